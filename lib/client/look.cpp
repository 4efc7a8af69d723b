#include "client/look.hpp"

#include <algorithm>

#include "client/driver.hpp"

// Looking at a resource: GET and PTTL on every node, one behind the other on its connection.
namespace quorumlock::client {
namespace {

enum Question : std::uint16_t { value, expiry };

}  // namespace

void Look::run(Driver& driver) {
  driver.begin(*this);
}

void Look::finish(Result<Inspection> result) {
  auto then = std::move(handler);
  delete this;
  then(std::move(result));
}

void Look::dismiss() {
  finish(Error(Errc::closed,
               "could not inspect \"" + inspection.resource + "\": the coordinator is closed"));
}

void Driver::begin(Look& look) {
  if (closing_) {
    return later([&look] { look.dismiss(); });
  }
  look.id = looks_.take();
  looks_[look.id] = &look;
  look.inspection.quorum = core::quorum_of(cluster_.size());
  look.to_come.assign(nodes_.size(), 2);
  key_ = cluster_.options.key_prefix + look.inspection.resource;
  const core::Time now = Clock::now();
  for (const auto& node : nodes_) {
    NodeHolding holding;
    holding.node = cluster_.names[static_cast<std::size_t>(node->index())];
    look.inspection.nodes.push_back(std::move(holding));
    for (const auto& [question, name] : {std::pair(value, "GET"), std::pair(expiry, "PTTL")}) {
      bytes_.clear();
      redis::append_command(bytes_, {name, key_});
      node->link().send(now, {look.id, question, core::CommandKind::query}, bytes_);
    }
    talkative_.add(node->index());
  }
}

void Driver::look_answered(Node& node, core::Tag tag, Vote vote, const redis::Reply* reply) {
  Look** found = looks_.find(tag.claim);
  if (found == nullptr) return;
  Look& look = **found;
  const auto index = static_cast<std::size_t>(node.index());
  NodeHolding& holding = look.inspection.nodes[index];
  if (look.to_come[index] == 0) return;  // answered after it had timed out

  using Type = redis::Reply::Type;
  if (reply == nullptr || reply->type == Type::error) {
    if (reply != nullptr) vote = redis::vote_of_error(reply->text);
    holding.vote = vote;
    holding.detail = vote == Vote::held ? "another kind of value" : node.link().last_trouble();
    look.to_come[index] = vote == Vote::held ? look.to_come[index] - 1 : 0;
  } else {
    if (tag.round == value) {
      holding.vote = reply->type == Type::string ? Vote::held : Vote::absent;
      holding.token = reply->text;
    } else if (holding.vote == Vote::held && reply->integer >= 0) {
      holding.expires_in = std::chrono::milliseconds(reply->integer);
    }
    --look.to_come[index];
  }

  if (std::ranges::any_of(look.to_come, [](int out) { return out > 0; })) return;
  for (const NodeHolding& one : look.inspection.nodes) {
    const auto same = std::ranges::count_if(look.inspection.nodes, [&](const NodeHolding& other) {
      return !one.token.empty() && other.token == one.token;
    });
    if (same >= look.inspection.quorum) look.inspection.holder = one.token;
  }
  looks_.give_back(tag.claim);
  look.finish(std::move(look.inspection));
}

}  // namespace quorumlock::client
