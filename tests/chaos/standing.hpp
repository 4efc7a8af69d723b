#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quorumlock::chaos {

/// Returns how many steps of changes of the list a node has made, according to its enrolment
/// record. Returns nothing if the record is from another run of the server: then the node has no
/// vote.
std::optional<long long> steps_made(std::string_view record, std::string_view run_id);

/// The value of a field in the reply to INFO.
std::string field_of(std::string_view info, std::string_view name);

}  // namespace quorumlock::chaos
