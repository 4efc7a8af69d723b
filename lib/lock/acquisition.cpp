#include "lock/acquisition.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace quorumlock::core {

void Acquisition::begin(const AcquireRequest& request, Time now, NodeSet nodes) {
  std::string its_key = std::move(key);
  SlotViews views = permit ? std::move(permit->seen) : SlotViews();
  std::destroy_at(this);
  std::construct_at(this);
  key = std::move(its_key);
  key.assign(request.key);
  if (!request.others.empty()) {
    others = std::make_shared<const std::vector<std::string>>(request.others.begin(),
                                                              request.others.end());
  }
  terms = request.terms;
  user = request.user;
  began = now;
  wait_until = request.wait_until;
  waits = request.waits;
  last.begin(nodes);
  if (request.ordered && request.waits) in_line.emplace().not_before = now;
  trace = request.trace;
  if (request.capacity != 0) {
    permit.emplace().capacity = request.capacity;
    permit->seen = std::move(views);
  }
}

void Acquisition::note_attempt(Time now, NodeSet asked, NodeSet connecting, const Tally& tally) {
  note(now, TraceKind::sent, static_cast<std::uint64_t>(asked.size()));
  for (const int node : connecting& asked) note(now, TraceKind::connecting, 0, node);
  for (const int node : tally.nodes() - asked) {
    note(now, TraceKind::voted, 0, node, tally.vote(node));
  }
}

Errc Acquisition::why_over(const Claim* attempt) const {
  // An attempt cut short gives the reason only if a quorum has answered it; otherwise the reason of
  // the attempt before stands.
  Errc why = last_why;
  if (attempt != nullptr && attempt->round.tally.reached() == Verdict::won) why = Errc::contended;
  if (in_line && pausing && attempts > 0) {
    why = last.reached() == Verdict::won ? Errc::contended : why_unreached(last);
  }
  return why == Errc::contended ? Errc::timed_out : Errc::no_quorum;
}

std::string Acquisition::holder(const Tally& tally) const {
  const int enough = tally.nodes().size() - tally.needed() + 1;
  return std::string(rival.token(enough));
}

Time next_try(Time now, Errc why, const Config& config, Random& random) {
  Duration pause = config.pause(random);
  // An attempt that could not ask a quorum is lost at once; the next attempt must not follow at
  // once.
  if (why == Errc::no_quorum) pause = std::max(pause, shortest_pause);
  return later(now, pause);
}

}  // namespace quorumlock::core
