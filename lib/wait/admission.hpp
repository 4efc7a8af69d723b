#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "lock/claim.hpp"
#include "lock/mutants.hpp"
#include "lock/tag.hpp"

namespace quorumlock::core {

/// Decides when what the engine wants to send may be sent. Each node has a window, which bounds how
/// many commands may be under way to it, and which its answers widen or narrow: while they come
/// quickly the window grows, and when they come late it is halved. So the commands queue here,
/// where urgent ones can overtake, and not at the nodes. Without a queue nothing waits, and each
/// call costs a few instructions.
///
/// Renewals go first, the most urgent one before the others; then what follows on an attempt or a
/// lease, raises and releases in their order, so that a lock's raise comes before its release; then
/// what waiters want, each kind in its order: a turn, an entry in a line, a first attempt.
class Admission {
 public:
  /// What a waiter is queued for.
  enum class For : std::uint8_t {
    turn,   ///< another attempt, or one whose turn in the line has come
    entry,  ///< its entry in the line is to be put on the nodes, or kept there
    first,  ///< the first attempt
  };

  /// `patience` is how much later than usual an answer may come before a window narrows.
  Admission(int first_window, int widest, Duration patience) : most_(widest), patience_(patience) {
    for (Pace& pace : paces_) pace.window = std::min(first_window, widest);
  }

  // The pace.

  /// Counts a command that is sent to each of these nodes.
  void sent(NodeSet to) {
    for (const int node : to) {
      Pace& pace = paces_[static_cast<std::size_t>(node)];
      if (++pace.out >= pace.window && !planted(Mutant::everything_sent_at_once)) full_.add(node);
    }
  }
  /// Counts the final answer to a command that was sent at `asked`; zero: there is no real answer.
  void answered(Time now, int node, Time asked) {
    Pace& pace = paces_[static_cast<std::size_t>(node)];
    if (pace.out > few && asked != Time()) [[unlikely]]
      adapt(now, node, asked);
    if (--pace.out < pace.window) {
      full_.remove(node);
    } else if (!planted(Mutant::everything_sent_at_once)) {
      full_.add(node);  // the window may have become narrower than what is under way
    }
  }
  /// The nodes whose windows are full.
  [[nodiscard]] NodeSet full() const { return full_; }
  /// The nodes that cannot keep up with the others: half as much again is under way to them as may
  /// be, and a little. They are not asked for new votes meanwhile.
  [[nodiscard]] NodeSet crowded() const {
    NodeSet crowded;
    for (const int node : full_) {
      const Pace& pace = paces_[static_cast<std::size_t>(node)];
      if (2 * pace.out >= 3 * pace.window + window_at_least) crowded.add(node);
    }
    return crowded;
  }
  /// Whether a round may begin, of which these nodes would be asked: a quorum of them has room. If
  /// they are too few for a quorum, the round is lost at once, and nothing is gained by waiting.
  [[nodiscard]] bool has_room(NodeSet voters, int votes) const {
    return (voters - full_).size() >= votes || voters.size() < votes;
  }
  [[nodiscard]] int window(int node) const { return paces_[static_cast<std::size_t>(node)].window; }
  [[nodiscard]] int out(int node) const { return paces_[static_cast<std::size_t>(node)].out; }

  // The queue.

  [[nodiscard]] bool empty() const {
    return waiting_ == 0 && renewals_.empty() && !has_follow_ups();
  }

  /// Queues the renewal of a lease; it is the more urgent the earlier `latest` is.
  void queue_renewal(Time latest, ClaimId id) { renewals_.push({latest, id}); }
  [[nodiscard]] bool has_renewals() const { return !renewals_.empty(); }
  [[nodiscard]] std::size_t renewals() const { return renewals_.size(); }
  struct Renewal {
    Time latest;
    ClaimId id;
    bool operator<(const Renewal& other) const { return latest > other.latest; }
  };
  Renewal take_renewal() {
    const Renewal first = renewals_.top();
    renewals_.pop();
    return first;
  }

  /// A raise of a counter, or a release.
  struct FollowUp {
    Tag tag;
    NodeSet to;
  };
  void queue_follow_up(const FollowUp& one) { follow_ups_.push_back(one); }
  [[nodiscard]] bool has_follow_ups() const { return next_follow_up_ < follow_ups_.size(); }
  FollowUp take_follow_up() {
    const FollowUp first = follow_ups_[next_follow_up_++];
    if (!has_follow_ups()) {
      follow_ups_.clear();
      next_follow_up_ = 0;
    }
    return first;
  }

  /// Queues a waiter, which may be queued for an entry already. Each waiter is in one place.
  void queue(WaiterId id, For what) {
    if (places_.size() <= id.index) places_.resize(id.index + std::size_t{1});
    leave(id);
    List& list = lists_[static_cast<std::size_t>(what)];
    places_[id.index] = {id, list.last, none, list.taken + list.size, what, true};
    (list.last == none ? list.first : places_[list.last].after) = id.index;
    list.last = id.index;
    ++list.size;
    ++waiting_;
  }
  [[nodiscard]] bool is_queued(WaiterId id) const {
    return id.index < places_.size() && places_[id.index].taken && places_[id.index].id == id;
  }
  [[nodiscard]] bool is_queued(WaiterId id, For what) const {
    return is_queued(id) && places_[id.index].what == what;
  }
  /// How many waiters were queued for the same when this queued one came and have not been taken
  /// since. Those that have left in the meantime count too, so that each of many waiters whose
  /// waits end together has its own number.
  [[nodiscard]] std::uint64_t before(WaiterId id) const {
    const Queued& place = places_[id.index];
    return place.turn - lists_[static_cast<std::size_t>(place.what)].taken;
  }
  /// Takes this waiter out of the queue if it is there.
  void leave(WaiterId id) {
    if (is_queued(id)) unlink(id.index);
  }
  [[nodiscard]] bool has(For what) const { return list_of(what).size != 0; }
  [[nodiscard]] std::size_t queued(For what) const { return list_of(what).size; }
  /// The first waiter that is queued for this; there is one.
  [[nodiscard]] WaiterId first(For what) const { return places_[list_of(what).first].id; }
  /// Takes that waiter out of the queue; the caller sends what it wants.
  WaiterId take(For what) {
    const WaiterId id = first(what);
    unlink(id.index);
    ++lists_[static_cast<std::size_t>(what)].taken;
    return id;
  }

 private:
  static constexpr std::uint32_t none = ~0U;
  static constexpr int window_at_least = 8;
  /// With so few commands under way the answers say nothing about the window.
  static constexpr int few = 3;

  /// What is under way to one node.
  struct Pace {
    int out = 0;
    int window = 0;
    Duration usual = Duration::max();  ///< the shortest time in which an answer came
    Time narrowed{};                   ///< when the window was halved last
  };
  struct Queued {
    WaiterId id;
    std::uint32_t before = none, after = none;  // neighbours in the list, by index
    std::uint64_t turn = 0;  // List::taken once all that were queued before this one are taken
    For what = For::first;
    bool taken = false;
  };
  struct List {
    std::uint32_t first = none, last = none;
    std::size_t size = 0;
    std::uint64_t taken = 0;
  };

  [[nodiscard]] const List& list_of(For what) const {
    return lists_[static_cast<std::size_t>(what)];
  }
  void unlink(std::uint32_t index) {
    Queued& place = places_[index];
    List& list = lists_[static_cast<std::size_t>(place.what)];
    (place.before == none ? list.first : places_[place.before].after) = place.after;
    (place.after == none ? list.last : places_[place.after].before) = place.before;
    place.taken = false;
    --list.size;
    --waiting_;
  }
  /// Only the first late answer of a round trip narrows the window: the others were sent before it
  /// was narrowed. The window widens only while it is made use of, and only as long as answers come
  /// in half of the patience: it may double before the first answer to what is sent now comes.
  void adapt(Time now, int node, Time asked) {
    Pace& pace = paces_[static_cast<std::size_t>(node)];
    const Duration took = now - asked;
    pace.usual = std::min(pace.usual, took);
    const Duration longer = took - pace.usual;
    if (longer <= patience_ / 2) {
      if (2 * pace.out > pace.window) pace.window = std::min(pace.window + 1, most_);
    } else if (longer > patience_ && asked >= pace.narrowed) {
      pace.window = std::min(std::max(pace.window / 2, window_at_least), most_);
      pace.narrowed = now;
    }
  }

  const int most_;
  const Duration patience_;
  NodeSet full_;
  std::array<Pace, max_nodes> paces_;
  std::priority_queue<Renewal> renewals_;
  std::vector<FollowUp> follow_ups_;
  std::size_t next_follow_up_ = 0;
  std::array<List, 3> lists_;
  std::vector<Queued> places_;  // indexed by the waiter's index
  std::size_t waiting_ = 0;     // the waiters in all lists
};

}  // namespace quorumlock::core
