#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "reports.hpp"

namespace quorumlock::cli {
namespace {

std::string span_or_dash(std::optional<std::chrono::milliseconds> span) {
  return span ? roughly(*span) : "-";
}

std::string mode_of(const HeldLock& lock) {
  if (lock.permit != 0) return "permit " + std::to_string(lock.permit);
  if (lock.leads) return "leader";
  return lock.mode == LockMode::shared ? "shared" : "exclusive";
}

std::string holder_of(const HeldLock& lock) {
  if (lock.token_begin.empty()) return "another program";
  return lock.label.empty() ? lock.token_begin + "..." : lock.label;
}

Row row_of(const HeldLock& lock) {
  return {lock.resource,
          mode_of(lock),
          holder_of(lock),
          lock.token_begin.empty() ? "-" : lock.token_begin + "...",
          span_or_dash(lock.held_for),
          span_or_dash(lock.expires_in),
          std::to_string(lock.waiters),
          lock.next_waiter.empty() ? "-" : lock.next_waiter,
          lock.fencing_token == 0 ? "-" : std::to_string(lock.fencing_token),
          std::to_string(lock.nodes)};
}

}  // namespace

int nodes_asked(const LockList& list) {
  return static_cast<int>(list.outcome.votes.size());
}

std::string locks_table(const std::vector<HeldLock>& locks, int nodes, std::size_t width) {
  const auto all = [&](auto usual) { return std::ranges::all_of(locks, usual); };
  const bool nobody_waits = all([](const HeldLock& lock) { return lock.waiters == 0; });
  Table table({{.heading = "RESOURCE", .is_name = true},
               {"MODE", all([](const HeldLock& lock) { return mode_of(lock) == "exclusive"; })},
               {.heading = "HOLDER", .is_name = true},
               {.heading = "TOKEN", .quiet = true},
               {"HELD FOR"},
               {"EXPIRES IN"},
               {"WAITERS", nobody_waits},
               {.heading = "NEXT", .quiet = nobody_waits, .is_extra = true},
               {.heading = "FENCING TOKEN", .quiet = true},
               {"NODES", all([&](const HeldLock& lock) { return lock.nodes == nodes; })}});
  for (const HeldLock& lock : locks) table.add(row_of(lock));
  return table.text(width);
}

std::vector<HeldLock> most_wanted(const LockList& list, std::size_t most) {
  const auto importance = [](const HeldLock& lock) {
    return std::tuple(lock.waiters, lock.held_for);
  };
  std::vector<HeldLock> first(std::min(most, list.locks.size()));
  std::ranges::partial_sort_copy(list.locks, first, std::greater(), importance, importance);
  return first;
}

std::string counts_of(const LockList& list) {
  return std::to_string(list.locks.size()) + " held, " + std::to_string(waiting_in(list)) +
         " waiting";
}

Json held_lock_json(const HeldLock& lock) {
  Json one = {{"resource", lock.resource},
              {"mode", lock.mode == LockMode::shared ? "shared" : "exclusive"}};
  if (lock.permit != 0) {
    one["mode"] = "permit";
    one["permit"] = lock.permit;
  }
  if (lock.leads) one["leads"] = true;
  if (!lock.leader_value.empty()) one["leader_value"] = lock.leader_value;
  if (!lock.group.empty()) one["group"] = lock.group;
  one["label"] = lock.label;
  one["token_begin"] = lock.token_begin;
  if (lock.held_for) one["held_for_ms"] = lock.held_for->count();
  if (lock.expires_in) one["expires_in_ms"] = lock.expires_in->count();
  one["waiters"] = lock.waiters;
  if (!lock.next_waiter.empty()) one["next_waiter"] = lock.next_waiter;
  if (lock.fencing_token != 0) one["fencing_token"] = lock.fencing_token;
  one["nodes"] = lock.nodes;
  return one;
}

int waiting_in(const LockList& list) {
  int waiting = 0;
  std::set<std::pair<std::string_view, bool>> counted;
  for (const HeldLock& lock : list.locks) {
    if (lock.waiters != 0 && counted.emplace(lock.resource, lock.permit != 0).second) {
      waiting += lock.waiters;
    }
  }
  return waiting;
}

Json locks_json(const LockList& list) {
  Json locks = Json::array();
  for (const HeldLock& lock : list.locks) locks.push_back(held_lock_json(lock));
  return {{"locks", std::move(locks)},
          {"complete", list.complete},
          {"votes", votes_json(list.outcome)}};
}

}  // namespace quorumlock::cli
