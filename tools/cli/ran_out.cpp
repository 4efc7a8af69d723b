#include "ran_out.hpp"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <utility>

#include <quorumlock/event.hpp>

namespace quorumlock::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_kept = 50;

/// A local time as text, such as "13:42:44".
std::string time_of_day(std::chrono::system_clock::time_point time) {
  const std::time_t second = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::localtime_r(&second, &parts);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  return text;
}

std::int64_t ms_since_epoch(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

/// What is said of a lease. The longer one of the two names is cut first.
std::string line(const HeldLock& lease, std::chrono::system_clock::time_point at,
                 std::size_t width) {
  constexpr std::size_t shortest_names = 24;
  const std::string begin = time_of_day(at) + "  ";
  const std::string middle = (lease.permit == 0 ? "" : " permit " + std::to_string(lease.permit)) +
                             " ran out: it was not renewed; held by ";
  std::string name = printable(lease.resource);
  std::string holder =
      printable(lease.label.empty() ? "the token " + lease.token_begin + "..." : lease.label);
  if (width == unlimited) return begin + name + middle + holder;
  const std::size_t others = begin.size() + middle.size();
  const std::size_t room = std::max(width, others + shortest_names) - others;
  name = cut_in_the_middle(name, std::max(room / 2, room - std::min(room, width_of(holder))));
  holder = cut_in_the_middle(holder, room - width_of(name));
  return cut_in_the_middle(begin + name + middle + holder, width);
}

}  // namespace

bool RanOut::ran_out(const Known& one, Time answered) const {
  if (!one.lock.expires_in) return false;
  const milliseconds last = *one.lock.expires_in;
  // After a gap the lease's renewals are not known. Otherwise it must have missed some, since its
  // holder may have given it back between two looks that are far apart.
  return one.asked + last <= answered && (gap_ || last <= one.longest / 2);
}

void RanOut::note(const Result<LockList>& list, Time asked, Time answered) {
  const std::lock_guard<std::mutex> lock(guard_);
  // A lock that is missing from an incomplete list may still be held.
  if (!list || !list->complete) {
    gap_ = true;
    return;
  }
  std::map<Name, Known> now;
  for (const HeldLock& one : list->locks) {
    const Name name(one.resource, one.permit, one.token_begin);
    const auto before = known_.find(name);
    milliseconds longest = one.expires_in.value_or(milliseconds::zero());
    if (before != known_.end()) longest = std::max(longest, before->second.longest);
    now.insert_or_assign(name, Known{one, longest, asked});
  }
  for (const auto& [name, one] : known_) {
    if (now.contains(name) || !ran_out(one, answered)) continue;
    // Nobody may have looked for a while.
    const auto ago =
        std::chrono::duration_cast<milliseconds>(answered - one.asked - *one.lock.expires_in);
    ended_.emplace_front(one.lock, std::chrono::system_clock::now() - ago);
    if (ended_.size() > most_kept) ended_.pop_back();
  }
  known_ = std::move(now);
  gap_ = false;
}

Json RanOut::document() const {
  const std::lock_guard<std::mutex> lock(guard_);
  Json all = Json::array();
  for (const auto& [one, at] : ended_) {
    Json ended = {{"resource", one.resource}, {"label", one.label}};
    if (one.permit != 0) ended["permit"] = one.permit;
    ended["token_begin"] = one.token_begin;
    ended["at_ms"] = ms_since_epoch(at);
    all.push_back(std::move(ended));
  }
  return all;
}

std::string RanOut::text(std::size_t width, std::size_t most) const {
  const std::lock_guard<std::mutex> lock(guard_);
  std::string text;
  for (const auto& [one, at] : ended_) {
    if (most-- == 0) break;
    if (!text.empty()) text += '\n';
    text += line(one, at, width);
  }
  return text;
}

}  // namespace quorumlock::cli
