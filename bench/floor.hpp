#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// Makes the bare floor: the smallest libuv program that sends the same bytes. It prepares requests
/// once, makes one uv_try_write per node and turn of the loop, and uses hiredis's reader with its
/// own reply functions. It has no timers, timeouts, reconnects or releases after a refusal; the
/// first error ends it.
std::unique_ptr<Contender> make_floor(const Nodes& nodes);

}  // namespace quorumlock::bench
