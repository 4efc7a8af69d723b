#include "client/look.hpp"

#include <algorithm>

#include "client/driver.hpp"

namespace quorumlock::client {
namespace {

enum Question : std::uint16_t { value, expiry };

}  // namespace

void Look::finish(Result<Inspection> result) {
  auto then = std::move(handler);
  delete this;
  then(std::move(result));
}

void Look::dismiss() {
  finish(Error(Errc::closed,
               "could not inspect \"" + inspection.resource + "\": the coordinator is closed"));
}

void Look::start(Driver& driver) {
  const Cluster& cluster = driver.cluster();
  inspection.quorum = core::quorum_of(cluster.size());
  to_come_.assign(static_cast<std::size_t>(cluster.size()), 2);
  const std::string key = cluster.options.key_prefix + inspection.resource;
  for (const std::string& name : cluster.names) {
    NodeHolding holding;
    holding.node = name;
    inspection.nodes.push_back(std::move(holding));
  }
  for (int node = 0; node < cluster.size(); ++node) {
    driver.ask(*this, node, value, {"GET", key});
    driver.ask(*this, node, expiry, {"PTTL", key});
  }
}

void Look::answered(Driver& driver, const Session::Answered& answer) {
  const auto index = static_cast<std::size_t>(answer.node);
  NodeHolding& holding = inspection.nodes[index];
  if (to_come_[index] == 0) return;  // answered after it had timed out

  using Type = redis::Reply::Type;
  const redis::Reply* reply = answer.reply;
  if (reply == nullptr || reply->type == Type::error) {
    holding.vote = reply != nullptr ? redis::vote_of_error(reply->text) : answer.vote;
    const bool another_kind = holding.vote == Vote::held;
    holding.detail = another_kind ? "another kind of value" : driver.trouble(answer.node);
    to_come_[index] = another_kind ? to_come_[index] - 1 : 0;
  } else {
    if (answer.tag.round == value) {
      holding.vote = reply->type == Type::string ? Vote::held : Vote::absent;
      holding.token = reply->text;
    } else if (holding.vote == Vote::held && reply->integer >= 0) {
      holding.expires_in = std::chrono::milliseconds(reply->integer);
    }
    --to_come_[index];
  }

  if (std::ranges::any_of(to_come_, [](int out) { return out > 0; })) return;
  for (const NodeHolding& one : inspection.nodes) {
    const auto same = std::ranges::count_if(inspection.nodes, [&](const NodeHolding& other) {
      return !one.token.empty() && other.token == one.token;
    });
    if (same >= inspection.quorum) inspection.holder = one.token;
  }
  driver.end(*this);
  finish(std::move(inspection));
}

}  // namespace quorumlock::client
