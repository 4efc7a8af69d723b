#include "admin/lock_list.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "lock/owner_token.hpp"
#include "lock/rival.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::detail {
namespace {

using std::chrono::milliseconds;

/// Keys that a node looks at in one call, which keeps it busy for some 0.2 ms if all are locks.
constexpr std::string_view keys_of_a_page = "100";
constexpr std::size_t longest_cursor = 20;  ///< the length of a number of 64 bits

/// The text as a pattern of SCAN that matches this text only.
std::string literal(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    if (std::string_view("*?[]\\").find(letter) != std::string_view::npos) escaped += '\\';
    escaped += letter;
  }
  return escaped;
}

}  // namespace

std::string LockCount::add(int node, const NodeReply& page) {
  using Type = NodeReply::Type;
  const std::span<const NodeReply> words = page.elements;
  if (page.type != Type::array || words.size() < 2 || words[0].type != Type::string ||
      words[1].type != Type::integer) {
    return {};
  }
  if (words[0].text.size() > longest_cursor) return {};
  ++shares_[node].pages;
  const std::int64_t now_us = words[1].integer;
  for (const NodeReply& one : words.subspan(2)) {
    if (one.elements.size() != 9) return {};
    std::string_view key = one.elements[0].text;
    HeldLock lock;
    lock.group = group_;
    if (key.starts_with(redis::own_prefix)) {
      const std::size_t end = key.rfind(':');
      lock.permit = redis::whole_number<int>(key.substr(end + 1)).value_or(0);
      key = key.substr(0, end);
      key.remove_prefix(std::min(redis::permit_prefix.size(), key.size()));
    }
    if (!key.starts_with(key_prefix_)) continue;
    lock.resource = key.substr(key_prefix_.size());
    lock.fencing_token = redis::whole_number<std::uint64_t>(one.elements[3].text).value_or(0);
    const auto age = core::age_of(static_cast<std::int64_t>(lock.fencing_token), now_us);
    if (age) lock.held_for = std::chrono::floor<milliseconds>(*age);
    lock.waiters = static_cast<int>(std::max<std::int64_t>(one.elements[4].integer, 0));
    const std::span<const NodeReply> holders = one.elements[5].elements;
    lock.leads = one.elements[6].integer == 1;
    lock.next_waiter = core::waiters_label(one.elements[7].text);
    lock.leader_value = one.elements[8].text;
    if (one.elements[1].text == "string" && holders.size() == 1) {
      const std::int64_t pttl = one.elements[2].integer;
      add_holder(node, std::move(lock), holders[0].text,
                 pttl < 0 ? milliseconds::max() : milliseconds(pttl));
      continue;
    }
    lock.mode = LockMode::shared;
    lock.held_for = std::nullopt;  // the counter is the newest reader's
    lock.fencing_token = 0;
    for (std::size_t i = 0; i + 1 < holders.size(); i += 2) {
      const auto ends = redis::score_in(holders[i + 1].text);
      if (ends * 1000 < now_us) continue;
      add_holder(node, lock, holders[i].text, milliseconds(ends - now_us / 1000));
    }
  }
  return std::string(words[0].text);
}

void LockCount::add_holder(int node, HeldLock lock, std::string_view token, milliseconds life) {
  const std::string key = std::to_string(lock.permit) + ":" + lock.resource;
  const auto [found, is_new] = found_.try_emplace({key, std::string(token)});
  Holding& holding = found->second;
  if (holding.lives.insert_or_assign(node, life).second) {  // SCAN may return a key twice
    Share& share = shares_[node];
    ++share.holdings;
    share.bytes += key.size() + token.size() + lock.leader_value.size();
  }
  if (lock.leads) holding.leads.insert(node);
  if (is_new) {
    lock.label = core::TokenParts::read(token).label;
    lock.token_begin = core::TokenParts::read(token).digits.substr(0, 8);
    holding.lock = std::move(lock);
    return;
  }
  HeldLock& its = holding.lock;
  its.waiters = std::max(its.waiters, lock.waiters);
  if (its.leader_value.empty()) its.leader_value = std::move(lock.leader_value);
  if (its.next_waiter.empty()) its.next_waiter = std::move(lock.next_waiter);
  its.fencing_token = std::max(its.fencing_token, lock.fencing_token);
  if (lock.held_for) its.held_for = std::max(its.held_for.value_or(*lock.held_for), *lock.held_for);
}

bool LockCount::is_full(int node, std::size_t most) const {
  const auto found = shares_.find(node);
  if (found == shares_.end()) return false;
  return found->second.holdings > most || found->second.bytes > most_bytes;
}

bool LockCount::is_endless(int node, int quorum) const {
  const auto found = shares_.find(node);
  return ended_ >= quorum && found != shares_.end() &&
         found->second.pages > always_allowed_pages + pages_to_one_of_others * slowest_;
}

std::vector<HeldLock> LockCount::on(int quorum) const {
  std::vector<HeldLock> all;
  for (const auto& [place, holding] : found_) {
    std::vector<milliseconds> lives;
    for (const auto& [node, life] : holding.lives) lives.push_back(life);
    if (static_cast<int>(lives.size()) < quorum) continue;
    std::ranges::sort(lives, std::greater());
    HeldLock& lock = all.emplace_back(holding.lock);
    lock.nodes = static_cast<int>(lives.size());
    lock.leads = static_cast<int>(holding.leads.size()) >= quorum;
    if (!lock.leads) lock.leader_value.clear();
    const milliseconds life = lives[static_cast<std::size_t>(quorum) - 1];
    if (life != milliseconds::max()) lock.expires_in = life;
  }
  return all;
}

namespace {

constexpr const char* listing = "list the locks";

/// A look at the locks of one group. All nodes are asked for a page at once, until each has sent
/// its last one or answers no more.
class LockLook {
 public:
  LockLook(const ListedGroup& group, const LocksQuery& query)
      : group_(group), query_(query), count_(group.key_prefix, group.name) {
    outcome_.quorum = group.quorum;
    for (const ListedNode& node : group.nodes) {
      outcome_.votes.push_back({node.node, Vote::pending, {}});
      asked_.emplace_back();
    }
  }

  /// The questions for the next pages; none if no node has more.
  [[nodiscard]] std::vector<NodeQuestion> next() const {
    std::vector<NodeQuestion> questions;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const Progress& its = asked_[i];
      if (its.over) continue;
      std::string pattern = literal(group_.key_prefix) + query_.pattern;
      if (its.permits) pattern = std::string(redis::permit_prefix) + pattern + ":[0-9]*";
      questions.push_back({group_.nodes[i].number,
                           {"EVAL", std::string(redis::locks_script.source), "0", its.cursor,
                            std::move(pattern), std::string(keys_of_a_page),
                            its.permits ? std::string(redis::semaphore_prefix) : std::string()}});
    }
    return questions;
  }
  /// Takes the answers to these questions, in their order.
  void take(const std::vector<NodeAnswer>& answers) {
    auto answer = answers.begin();
    for (std::size_t i = 0; i < asked_.size() && answer != answers.end(); ++i) {
      if (!asked_[i].over) asked_[i].over = !goes_on(i, *answer++);
    }
  }
  Result<LockList> result() {
    const int answered = outcome_.count(Vote::granted);
    if (answered < outcome_.quorum) {
      return Error(Errc::no_quorum,
                   "could not list the locks: " + std::to_string(answered) + " of " +
                       std::to_string(outcome_.votes.size()) +
                       " nodes answered to the end, and a quorum is " +
                       std::to_string(outcome_.quorum),
                   outcome_);
    }
    return LockList{count_.on(outcome_.quorum), complete_, std::move(outcome_)};
  }

 private:
  /// One node's progress: first its locks, then its permits.
  struct Progress {
    bool over = false;
    bool permits = false;
    std::string cursor = "0";
  };

  /// Takes a node's page. Returns false if the node has no more pages, or no longer answers.
  bool goes_on(std::size_t place, const NodeAnswer& answer) {
    Progress& progress = asked_[place];
    NodeVote& its = outcome_.votes[place];
    const auto node = static_cast<int>(place);
    its.vote = answer.vote;
    its.detail = answer.trouble;
    if (!answer.good()) return false;
    its.vote = Vote::failed;
    progress.cursor = count_.add(node, *answer.reply);
    if (progress.cursor.empty()) return false;
    if (count_.is_full(node, query_.most)) {
      complete_ = false;
      its.vote = Vote::granted;
      return false;
    }
    if (count_.is_endless(node, outcome_.quorum)) return false;
    its.vote = Vote::pending;
    if (progress.cursor != "0") return true;
    if (progress.permits) {
      count_.end(node);
      its.vote = Vote::granted;
      return false;
    }
    progress.permits = true;
    return true;
  }

  const ListedGroup& group_;
  const LocksQuery& query_;
  LockCount count_;
  std::vector<Progress> asked_;  ///< in the order of the nodes
  Outcome outcome_;
  bool complete_ = true;
};

}  // namespace
}  // namespace quorumlock::detail

namespace quorumlock {

Result<LockList> list_locks(const Coordinator& coordinator, const LocksQuery& query) {
  const auto groups = detail::listed_groups(coordinator, detail::listing, false);
  if (!groups) return groups.error();
  LockList all;
  for (std::size_t group = 0; group < groups->size(); ++group) {
    detail::LockLook look((*groups)[group], query);
    for (auto questions = look.next(); !questions.empty(); questions = look.next()) {
      const auto answers =
          detail::ask_nodes(coordinator, detail::listing, group, std::move(questions));
      if (!answers) return answers.error();
      look.take(*answers);
    }
    Result<LockList> some = look.result();
    if (!some) return some;
    std::ranges::move(some->locks, std::back_inserter(all.locks));
    std::ranges::move(some->outcome.votes, std::back_inserter(all.outcome.votes));
    all.outcome.quorum = some->outcome.quorum;
    all.complete = all.complete && some->complete;
  }
  std::ranges::stable_sort(all.locks, [](const HeldLock& one, const HeldLock& other) {
    return std::tie(one.resource, one.permit) < std::tie(other.resource, other.permit);
  });
  return all;
}

}  // namespace quorumlock
