#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// What is taken: a lock without fencing, with it, in order (a wait, though nobody is before it),
/// to read, two at once, one of 64 permits.
enum class Kind { plain, fenced, ordered, shared, pair, permit };

/// quorumlock itself: a Coordinator attached to a loop like the others', one attempt each,
/// everything else as it comes.
std::unique_ptr<Contender> make_attached(const Nodes& nodes, Kind kind, std::string_view name);

}  // namespace quorumlock::bench
