#include "lock/rival.hpp"

#include <algorithm>
#include <cstddef>

namespace quorumlock::core {
namespace {

constexpr std::size_t most_bytes = 128;  ///< of a token that are shown; our tokens have at most 105

}  // namespace

std::optional<std::chrono::microseconds> age_of(std::int64_t fence, std::int64_t node_time) {
  constexpr std::int64_t in_2001 = 1'000'000'000'000'000;
  if (fence < in_2001 || fence > node_time) return std::nullopt;
  return std::chrono::microseconds(node_time - fence);
}

void Rival::hear(Time now, int node, const Answer& refusal) {
  const auto age = age_of(static_cast<std::int64_t>(refusal.fence), refusal.node_time);
  note(now, node, refusal.holder, age ? now - *age : never, refusal.due);
}

void Rival::note(Time now, int node, std::string_view token, Time since, Duration due) {
  token = token.substr(0, most_bytes);
  if (token.empty()) return nodes_.remove(node);
  if (token != token_) {
    // We have seen one holder follow another, so this one has just got the lock.
    if (!token_.empty() && since == never) since = now;
    token_.assign(token);
    nodes_ = NodeSet();
    since_ = since;
    expiry_.reset();
  }
  nodes_.add(node);
  if (due != Duration::zero()) expiry_ = due < Duration::zero() ? never : later(now, due);
  since_ = std::min(since_, since);
}

std::string_view Rival::token(int nodes) const {
  return nodes_.size() < nodes ? std::string_view() : token_;
}

}  // namespace quorumlock::core
