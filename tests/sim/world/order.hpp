#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "sim/database_view.hpp"
#include "sim/wall_clock.hpp"
#include "sim/world/operation.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

/// Checks that a waiter in the line is not overtaken: once its entry is on every node, no later
/// request gets the lock before it; no node removes the entry before the waiter is served; and the
/// waiter is served within a few rounds, woken by the release. This holds if nothing goes wrong and
/// every client looks at the line.
class Order {
 public:
  using Report = std::function<void(std::string)>;
  /// `patience` is enough for some rounds of messages, and less than the time between two looks.
  Order(std::deque<Operation>& operations, bool holds, TrueTime patience, Report report)
      : operations_(operations), holds_(holds), patience_(patience), report_(std::move(report)) {}

  /// Sets the name by which the nodes know this waiter, and its settled ticket.
  void named(Operation& one, std::string name, std::uint64_t ticket) {
    if (!holds_ || one.place == name) return;
    one.place = std::move(name);
    one.ticket = static_cast<double>(ticket);
    waiters_[one.place] = one.number;
  }
  /// Looks at this lock's line on this node.
  void look(int node, const std::string& key, const DatabaseView& seen, TrueTime now, int nodes) {
    if (!holds_) return;
    const Value::SortedSet* const line = seen.sorted_set_of(std::string(redis::queue_prefix) + key);
    for (auto& [name, number] : waiters_) {
      Operation& one = operations_[number];
      if (!one.wants(key) || one.answers > 0) continue;
      core::NodeSet& on = one.on[key];
      const auto entry = line != nullptr ? line->find(name) : Value::SortedSet::const_iterator();
      if (line == nullptr || entry == line->end() || entry->second != one.ticket) {
        if (on.contains(node)) {
          report_("operation " + std::to_string(one.number) + " waits, and node " +
                  std::to_string(node + 1) + " has taken it out of the line");
        }
      } else if (!on.contains(node)) {
        on.add(node);
        const bool everywhere =
            one.on.size() == one.keys().size() && std::ranges::all_of(one.on, [nodes](auto& each) {
              return each.second.size() == nodes;
            });
        if (everywhere) one.everywhere = now;
      }
    }
    std::erase_if(waiters_, [this](const auto& it) { return operations_[it.second].answers > 0; });
  }
  /// The number of locks won while others waited.
  [[nodiscard]] std::size_t contended() const { return contended_; }
  /// Called when the holder has given the lock back.
  void released(const Operation& one, TrueTime now) {
    if (one.capacity != 0) {
      permits_.push_back(now);
      if (permits_.size() > static_cast<std::size_t>(one.capacity)) permits_.pop_front();
      return;
    }
    for (const std::string& key : one.keys()) {
      const auto reads_too = [&](const Operation& other) { return other.held && other.wants(key); };
      if (!one.shared || std::ranges::none_of(operations_, reads_too)) freed_[key] = now;
    }
  }
  /// Called when a waiter gives up: while it waits for several locks it blocks even a free one.
  void left(const Operation& one, TrueTime now) {
    for (const std::string& key : one.keys()) {
      const auto freed = freed_.find(key);
      if (freed != freed_.end()) freed->second = now;
    }
  }
  void won(const Operation& winner, int attempts, TrueTime now) {
    if (!holds_) return;
    const std::optional<TrueTime> freed = freed_for(winner);
    if (freed && winner.everywhere <= *freed && now - *freed > patience_) {
      report_("operation " + std::to_string(winner.number) +
              " was first in the line, and nobody woke it when the lock was released");
    }
    // A winner may take one probe, or one for each permit of a semaphore, and the rounds within
    // which the protocol grants the lock to the queue head.
    const int probes = winner.capacity == 0 ? 1 : most_slots;
    // Each later waiter allows one more round: a waiter whose ticket is too small at first is ahead
    // until that ticket has grown.
    const auto came_since = [&] {
      return std::ranges::count_if(operations_, [&](const Operation& one) {
        return one.shares_a_key_with(winner) && one.in_line >= winner.asked && one.in_line < now &&
               one.client != winner.client;
      });
    };
    const auto reads = [&](const Operation& one) { return one.shared && one.wants(winner.key); };
    if (winner.ordered && winner.others.empty() && attempts > probes + most_rounds &&
        attempts > probes + most_rounds + came_since() &&
        (attempts > probes + 2 * most_rounds || std::ranges::none_of(operations_, reads))) {
      report_("operation " + std::to_string(winner.number) + " took " + std::to_string(attempts) +
              " attempts although nothing went wrong");
    }
    bool alone = true;
    for (const auto& [name, number] : waiters_) {
      const Operation& one = operations_[number];
      if (one.number == winner.number || one.answers > 0 || one.dead) continue;
      if (!one.shares_a_key_with(winner)) continue;
      alone = false;
      if (winner.shared && one.shared) continue;
      if (winner.ordered && one.client == winner.client && one.in_line < winner.asked) {
        report_("operation " + std::to_string(winner.number) + " overtook operation " +
                std::to_string(one.number) + ", which its client had sent to the line before");
      }
      if (one.everywhere >= winner.asked) continue;
      report_("operation " + std::to_string(winner.number) + " overtook operation " +
              std::to_string(one.number) + ", which was in the line on every node before");
    }
    if (!alone) ++contended_;
  }

 private:
  /// The time at which the last of the winner's keys was given back; nothing unless all keys were.
  std::optional<TrueTime> freed_for(const Operation& winner) {
    TrueTime freed{};
    if (winner.capacity != 0) {
      if (permits_.empty()) return std::nullopt;
      freed = permits_.front();
      permits_.pop_front();
      return freed;
    }
    bool all_freed = true;
    for (const std::string& key : winner.keys()) {
      const auto last = freed_.extract(key);
      all_freed = all_freed && !last.empty();
      if (!last.empty()) freed = std::max(freed, last.mapped());
    }
    return all_freed ? std::optional(freed) : std::nullopt;
  }

  /// The greatest number of rounds, which is doubled if some requests are shared: no model has
  /// bounded that case.
  static constexpr int most_rounds = 4;
  static constexpr int most_slots = 8;  ///< permits that a request outside of the line tries
  std::deque<Operation>& operations_;
  bool holds_;
  TrueTime patience_;
  Report report_;
  std::size_t contended_ = 0;
  std::map<std::string, TrueTime> freed_;  ///< releases of locks that nobody has had since
  std::deque<TrueTime> permits_;           ///< releases of permits that nobody has had since
  std::map<std::string, std::size_t> waiters_;
};

}  // namespace quorumlock::sim
