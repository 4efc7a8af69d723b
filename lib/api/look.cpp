#include <quorumlock/semaphore.hpp>

#include "api/look.hpp"

#include <algorithm>

#include "lock/owner_token.hpp"
#include "lock/quorum.hpp"
#include "lock/rival.hpp"
#include "loop/driver.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::detail {
namespace {

using std::chrono::milliseconds;

/// The most readers, and waiters of each line, that a node is asked for.
constexpr std::string_view most_told = "1000";

/// Decodes an entry's name: its mode, its process and a number there, and then its label.
LineEntry entry_of(std::string_view name) {
  LineEntry entry;
  entry.label = core::waiters_label(name);
  name = name.substr(0, name.find('@'));
  entry.name = name;
  entry.mode = name.starts_with('r') ? LockMode::shared : LockMode::exclusive;
  if (!name.empty()) entry.process = name.substr(1, name.find('.') - 1);
  return entry;
}

/// The time left until an end in ms of the node's clock.
milliseconds left_of(const redis::Reply& ends, std::int64_t now_us) {
  return milliseconds(std::max<std::int64_t>(redis::score_in(ends.text) - now_us / 1000, 0));
}

/// Decodes a reply to PTTL.
std::optional<milliseconds> expiry_of(const redis::Reply& pttl) {
  if (pttl.integer < 0) return std::nullopt;
  return milliseconds(pttl.integer);
}

std::vector<LineEntry> line_of(std::span<const redis::Reply> words, std::int64_t now_us) {
  std::vector<LineEntry> line;
  for (; words.size() >= 3; words = words.subspan(3)) {
    LineEntry& entry = line.emplace_back(entry_of(words[0].text));
    const std::int64_t ticket = redis::score_in(words[1].text);
    entry.ticket = static_cast<std::uint64_t>(ticket);
    entry.waiting_for = milliseconds(std::max<std::int64_t>(now_us - ticket, 0) / 1000);
    entry.expires_in = left_of(words[2], now_us);
  }
  return line;
}

/// Returns an owner token of this library, or nothing: another program's value may be a secret.
std::string token_in(std::string_view text) {
  return std::string(core::TokenParts::read(text).digits.empty() ? std::string_view() : text);
}

}  // namespace

bool holding_of(const redis::Reply& reply, NodeHolding& holding) {
  using Type = redis::Reply::Type;
  const std::span<const redis::Reply> words = reply.elements;
  if (reply.type != Type::array || words.size() != 10 || words[0].type != Type::integer ||
      words[3].type != Type::integer || words[6].type != Type::integer ||
      words[4].elements.size() % 2 != 0 || words[5].elements.size() % 3 != 0 ||
      words[7].elements.size() % 3 != 0 || words[8].elements.size() % 3 != 0) {
    return false;
  }
  const std::int64_t now_us = words[0].integer;
  const std::string_view kind = words[1].text;
  holding.vote = kind == "none" ? Vote::absent : Vote::held;
  holding.token = OwnerToken(token_in(words[2].text));
  if (holding.token.empty() && kind != "none" && kind != "readers") {
    holding.detail = core::describe_holder(words[2].text);
  }
  holding.expires_in = expiry_of(words[3]);
  for (std::size_t i = 0; i < words[4].elements.size(); i += 2) {
    const std::span<const redis::Reply> one = words[4].elements.subspan(i, 2);
    const OwnerToken token(token_in(one[0].text));
    if (!token.empty()) holding.readers.push_back({token, left_of(one[1], now_us)});
  }
  holding.waiters = line_of(words[5].elements, now_us);
  holding.semaphore.capacity = static_cast<int>(words[6].integer);
  for (std::size_t i = 0; i < words[7].elements.size(); i += 3) {
    const std::span<const redis::Reply> one = words[7].elements.subspan(i, 3);
    holding.semaphore.permits.push_back(
        {static_cast<int>(one[0].integer), OwnerToken(token_in(one[1].text)), expiry_of(one[2])});
  }
  holding.semaphore.waiters = line_of(words[8].elements, now_us);
  const auto age = core::age_of(redis::score_in(words[9].text), now_us);
  if (!holding.token.empty() && age) holding.held_for = std::chrono::floor<milliseconds>(*age);
  return true;
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

void Look::start(Driver& driver) {
  const Cluster& cluster = driver.cluster();
  inspection.group = cluster.group;
  list_ = driver.nodes();
  inspection.quorum = list_.quorum();
  to_come_ = driver.node_set();
  const std::string key = cluster.options.key_prefix + inspection.resource;
  const std::string most_permits = std::to_string(Semaphore::max_capacity);
  for (const NodeList::Node& node : list_) {
    inspection.nodes.emplace_back().node = node.name;
    driver.inquiries().ask(
        *this, node.number, 0,
        {"EVAL", redis::inspect_script.source, "1", key, most_told, most_permits});
  }
}

void Look::answered(Driver& driver, const Session::Answered& answer) {
  if (!to_come_.contains(answer.node)) return;  // a reply after the timeout
  to_come_.remove(answer.node);
  NodeHolding& holding = inspection.nodes[list_.place_of(answer.node)];
  const redis::Reply* reply = answer.reply;
  if (reply == nullptr || reply->type == redis::Reply::Type::error) {
    holding.vote = reply != nullptr ? redis::vote_of_error(reply->text) : answer.vote;
    holding.detail = reply != nullptr ? printable(driver.link(answer.node).greeting().said(*reply))
                                      : driver.trouble(answer.node);
  } else if (!holding_of(*reply, holding)) {
    holding.vote = Vote::failed;
  }
  if (!to_come_.empty()) return;
  conclude(inspection);
  driver.inquiries().end(*this);
  finish(std::move(inspection));
}

}  // namespace quorumlock::detail
