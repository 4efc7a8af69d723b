#include "loop/why_refused.hpp"

#include <algorithm>
#include <chrono>

#include "lock/owner_token.hpp"

namespace quorumlock::detail {
namespace {

std::string length_of(core::Duration span) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(span);
  if (ms < std::chrono::seconds(1)) return std::to_string(ms.count()) + " ms";
  return std::to_string(ms / std::chrono::seconds(1)) + " s";
}

/// A clause such as "held by web-3:812 for 12 s". Another program's value is described instead: its
/// kind, its length and when it expires, but for how long it has been there nobody knows.
std::string held_by(const core::Refused& refused, core::Time now) {
  std::string text = "held by " + core::describe_holder(refused.holder);
  if (!core::TokenParts::read(refused.holder).digits.empty()) {
    return refused.held_since > now ? text : text + " for " + length_of(now - refused.held_since);
  }
  if (!refused.expiry) return text;
  if (*refused.expiry == core::never) return text + ", which never expires";
  return text + ", which expires in " + length_of(std::max(*refused.expiry - now, {}));
}

}  // namespace

std::string why_no_lock(const core::Refused& refused, core::Time now) {
  const bool is_named = !refused.holder.empty();
  bool is_held = false;
  for (const int node : refused.tally.nodes()) {
    is_held = is_held || refused.tally.vote(node) == Vote::held;
  }
  if (refused.why == Errc::contended) {
    if (is_named) return held_by(refused, now);
    return is_held ? "" : "a quorum granted the lock, but too late for its ttl";
  }
  if (refused.why != Errc::timed_out) return {};
  if (is_named) return "the wait ran out while the lock was " + held_by(refused, now);
  return is_held ? "the wait ran out while the lock was held by another"
                 : "the wait ran out before a quorum had granted the lock";
}

std::string why_unsent(const core::Unsent& unsent, int nodes) {
  std::string text = "it waited for " + length_of(unsent.waited);
  const auto add = [&text](auto count, const std::string& what) {
    if (count != 0) text += ", with " + std::to_string(count) + " " + what;
  };
  add(unsent.before, "others before it");
  add(unsent.renewals, "renewals of leases that go first");
  add(unsent.full.size(),
      "of " + std::to_string(nodes) + " nodes that answer too slowly to be sent more");
  if (unsent.before == 0 && unsent.renewals == 0 && unsent.full.empty()) {
    text += ", while this process was busy with other things";
  }
  return text;
}

std::string why_no_permit(const core::Refused& refused, int capacity) {
  const std::string all = "all " + std::to_string(capacity) + " permits";
  if (refused.why == Errc::contended) return all + " are held, or others wait for one";
  if (refused.why == Errc::timed_out) return "the wait ran out while " + all + " were held";
  if (refused.why == Errc::misconfigured && refused.capacity != 0) {
    return "it has a capacity of " + std::to_string(refused.capacity) + ", and not of " +
           std::to_string(capacity) +
           ": say the same everywhere; it can be changed while no permit is held";
  }
  return {};
}

}  // namespace quorumlock::detail
