#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// quorumlock itself: a Coordinator attached to a loop like the others', plain locks or fenced
/// ones, one attempt each, everything else as it comes.
std::unique_ptr<Contender> make_attached(const Nodes& nodes, bool fencing);

}  // namespace quorumlock::bench
