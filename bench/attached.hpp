#pragma once

#include "contender.hpp"

namespace quorumlock::bench {

/// The kind of lock, in this order: without fencing; the same with events, eight classes of
/// resources and a reader of its metrics; with fencing; ordered, with a wait although there is no
/// other waiter; shared; two at once; one of 64 permits.
enum class Kind { plain, watched, fenced, ordered, shared, pair, permit };

/// Makes quorumlock itself a contender: a Coordinator attached to a loop like the others', with one
/// attempt each and default options.
std::unique_ptr<Contender> make_attached(const Nodes& nodes, Kind kind, std::string_view name);

}  // namespace quorumlock::bench
