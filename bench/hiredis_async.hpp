#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// The alternative that was measured and rejected: hiredis's own async layer under its libuv
/// adapter in place of sockets and writes of our own. As bare as the floor otherwise.
std::unique_ptr<Contender> make_hiredis_async(const Nodes& nodes);

}  // namespace quorumlock::bench
