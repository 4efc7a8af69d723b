#include "api/leader_view.hpp"

#include <algorithm>
#include <chrono>

#include "wire/numbers.hpp"

namespace quorumlock::detail {

using redis::whole_number;

void LeaderView::begin(core::NodeSet nodes) {
  nodes_ = nodes;
  answered_ = 0;
  pending_ = nodes;
  said_.fill({});
  leader_.reset();
  version_ = 0;
  first_expiry_ = {};
}

bool LeaderView::note(int node, const redis::Reply* reply) {
  if (!pending_.contains(node)) return false;
  pending_.remove(node);
  using Type = redis::Reply::Type;
  if (reply == nullptr || reply->type != Type::array) return true;
  ++answered_;
  const std::span<const redis::Reply> words = reply->elements;
  if (words.size() == 5 && words[1].type == Type::integer) {
    Node& said = said_[static_cast<std::size_t>(node)];
    said.leader.owner_token = OwnerToken(std::string(words[0].text));
    said.version = whole_number<std::uint64_t>(words[2].text).value_or(0);
    said.leader.fencing_token = whole_number<std::uint64_t>(words[3].text).value_or(0);
    said.leader.value = words[4].text;
    const core::Duration expiry = std::chrono::milliseconds(words[1].integer);
    if (expiry > core::Duration::zero() &&
        (first_expiry_ == core::Duration::zero() || expiry < first_expiry_)) {
      first_expiry_ = expiry;
    }
  }
  conclude();
  return true;
}

/// Finds the leader: the holder of the lock on a quorum of nodes. Its newest announcement counts,
/// even if only one node has it. If it has announced nothing, its fencing token counts only if a
/// quorum of nodes agrees on it.
void LeaderView::conclude() {
  leader_.reset();
  version_ = 0;
  for (const Node& one : said_) {
    const std::string& token = one.leader.owner_token;
    const auto same = std::ranges::count_if(
        said_, [&](const Node& other) { return other.leader.owner_token == token; });
    if (token.empty() || same < core::quorum_of(asked())) continue;
    if (leader_ && one.version <= version_) continue;
    leader_ = one.leader;
    version_ = one.version;
    if (version_ > 0) continue;
    const auto agree =
        std::ranges::count_if(said_, [&](const Node& other) { return other.leader == one.leader; });
    if (agree < core::quorum_of(asked())) leader_->fencing_token = 0;
  }
}

}  // namespace quorumlock::detail
