#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// The bare floor: the smallest libuv program that sends the same bytes. Requests prepared once,
/// one uv_try_write per node per turn of the loop, hiredis's reader with reply functions of its
/// own. No timers, no timeouts, no reconnecting, no release after a loss: it dies of the first
/// error.
std::unique_ptr<Contender> make_floor(const Nodes& nodes);

}  // namespace quorumlock::bench
