#include "admin/lock_list.hpp"

#include <algorithm>
#include <functional>

#include "core/owner_token.hpp"
#include "core/rival.hpp"
#include "loop/driver.hpp"
#include "redis/keys.hpp"
#include "redis/numbers.hpp"
#include "redis/scripts.hpp"
#include "redis/verbs/vote.hpp"

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

std::string LockCount::add(int node, const redis::Reply& page) {
  using Type = redis::Reply::Type;
  const std::span<const redis::Reply> words = page.elements;
  if (page.type != Type::array || words.size() < 2 || words[0].type != Type::string ||
      words[1].type != Type::integer) {
    return {};
  }
  if (words[0].text.size() > longest_cursor) return {};
  ++shares_[node].pages;
  const std::int64_t now_us = words[1].integer;
  for (const redis::Reply& one : words.subspan(2)) {
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
    const std::span<const redis::Reply> holders = one.elements[5].elements;
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
    lock.label = core::OwnerToken::read(token).label;
    lock.token_begin = core::OwnerToken::read(token).digits.substr(0, 8);
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

void LockInquiry::finish(Result<LockList> result) {
  auto then = std::move(handler);
  delete this;
  then(std::move(result));
}

void LockInquiry::dismiss() {
  finish(Error(Errc::closed, "could not list the locks: the coordinator is closed"));
}

void LockInquiry::start(Driver& driver) {
  list_ = driver.nodes();
  key_prefix_ = driver.cluster().options.key_prefix;
  count_.emplace(key_prefix_, driver.cluster().group);
  outcome_.quorum = list_.quorum();
  for (const NodeList::Node& node : list_) {
    outcome_.votes.push_back({node.name, Vote::pending, {}});
    asked_.try_emplace(node.number);
  }
  for (const NodeList::Node& node : list_) ask(driver, node.number);
}

void LockInquiry::ask(Driver& driver, int node) {
  const Progress& progress = asked_.at(node);
  std::string pattern = literal(key_prefix_) + query.pattern;
  if (progress.permits) pattern = std::string(redis::permit_prefix) + pattern + ":[0-9]*";
  driver.inquiries().ask(
      *this, node, 0,
      {"EVAL", redis::locks_script.source, "0", progress.cursor, pattern, keys_of_a_page,
       progress.permits ? redis::semaphore_prefix : std::string_view()});
}

/// Takes a node's page. Returns false if the node has no more pages, or no longer answers.
bool LockInquiry::goes_on(int node, const Session::Answered& answer) {
  Progress& progress = asked_.at(node);
  Vote& vote = outcome_.votes[list_.place_of(node)].vote;
  const redis::Reply* const reply = answer.reply;
  if (reply == nullptr || reply->type == redis::Reply::Type::error) {
    vote = reply != nullptr ? redis::vote_of_error(reply->text) : answer.vote;
    return false;
  }
  progress.cursor = count_->add(node, *reply);
  if (progress.cursor.empty()) {
    vote = Vote::failed;
    return false;
  }
  if (count_->is_full(node, query.most)) {
    result_.complete = false;
    vote = Vote::granted;
    return false;
  }
  if (count_->is_endless(node, outcome_.quorum)) {
    vote = Vote::failed;
    return false;
  }
  if (progress.cursor != "0") return true;
  if (progress.permits) {
    count_->end(node);
    vote = Vote::granted;
    return false;
  }
  progress.permits = true;
  return true;
}

void LockInquiry::answered(Driver& driver, const Session::Answered& answer) {
  if (!asked_.contains(answer.node)) return;  // a reply after the timeout
  if (goes_on(answer.node, answer)) return ask(driver, answer.node);
  NodeVote& its = outcome_.votes[list_.place_of(answer.node)];
  if (its.vote != Vote::granted) its.detail = driver.trouble(answer.node);
  asked_.erase(answer.node);
  if (!asked_.empty()) return;
  driver.inquiries().end(*this);
  if (outcome_.count(Vote::granted) < outcome_.quorum) {
    return finish(
        Error(Errc::no_quorum,
              "could not list the locks: " + std::to_string(outcome_.count(Vote::granted)) +
                  " of the nodes answered to the end",
              outcome_));
  }
  result_.locks = count_->on(outcome_.quorum);
  result_.outcome = std::move(outcome_);
  finish(std::move(result_));
}

}  // namespace quorumlock::detail
