#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// quorumlock itself: a Coordinator attached to a loop like the others', plain locks (no fencing),
/// one attempt each, everything else as it comes.
std::unique_ptr<Contender> make_attached(const Nodes& nodes);

}  // namespace quorumlock::bench
