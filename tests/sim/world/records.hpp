#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "members/enrolment_record.hpp"
#include "members/membership.hpp"
#include "sim/server.hpp"
#include "sim/world/draw.hpp"

namespace quorumlock::sim {

/// The name of a server in the lists of nodes, and the server that has this name.
std::string name_of(int node);
/// The names of the nodes whose numbers a word has.
redis::NodeNames named(const std::string& numbers);
int server_named(const std::string& name);

/// The text of a key of a server; empty if there is none.
std::string text_of(const Server& server, std::string_view key, TrueTime now);
/// The greatest counter that counts whichever node says it, for an operator whose clock is right.
std::uint64_t counts_up_to(TrueTime now);
/// One of the two terms of a list that operators change to and fro.
redis::ListTerms terms_of(const Draw& draw, bool other);
/// A server's enrolment, whichever run of the server wrote it.
std::optional<redis::EnrolmentRecord> enrolment_of(const Server& server, TrueTime now);
/// The membership that a server's record states, if the record is valid in the server's run.
std::optional<redis::Membership> membership_of(const Server& server, TrueTime now);
/// The same, whichever run of the server wrote the record.
std::optional<redis::Membership> membership_on_disk(const Server& server, TrueTime now);

}  // namespace quorumlock::sim
