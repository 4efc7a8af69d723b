#pragma once

#include <string_view>

#include <quorumlock/options.hpp>

namespace quorumlock::detail {

/// Reads the options from JSON. Each option has the right type, but the options are not yet
/// validate()d together.
Result<Options> parse_options(std::string_view json);

}  // namespace quorumlock::detail
