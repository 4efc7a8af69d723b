#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/claim.hpp"

namespace quorumlock::core {

/// Bounds the number of attempts at a lock that no quorum has decided yet: while the bound is
/// reached, new acquisitions wait here, first in, first out, until an attempt is decided. Each call
/// costs O(1), and none allocates while the queue is no longer than it has been before.
class Admission {
 public:
  explicit Admission(int most_out) : most_out_(most_out) {}

  /// Whether a newcomer has to queue.
  [[nodiscard]] bool must_queue() const { return queued_ != 0 || out_ >= most_out_; }
  /// Appends this acquisition, which is not in the queue yet.
  void queue(WaiterId id) {
    if (places_.size() <= id.index) places_.resize(id.index + std::size_t{1});
    Place& place = places_[id.index];
    place = {id, last_, none, sent_ + queued_, true};
    (last_ == none ? first_ : places_[last_].after) = id.index;
    last_ = id.index;
    ++queued_;
  }
  [[nodiscard]] bool is_queued(WaiterId id) const {
    return id.index < places_.size() && places_[id.index].taken && places_[id.index].id == id;
  }
  /// How many acquisitions were queued when this queued one came and have not been sent since.
  /// Those that have ended unsent in the meantime count too, so that each of many acquisitions
  /// whose waits end together has its own number.
  [[nodiscard]] std::uint64_t before(WaiterId id) const { return places_[id.index].turn - sent_; }
  /// Takes this acquisition out of the queue if it is there.
  void leave(WaiterId id) {
    if (is_queued(id)) unlink(id.index);
  }

  /// Whether the first of the queue is to be sent.
  [[nodiscard]] bool may_send() const { return queued_ != 0 && out_ < most_out_; }
  /// The first of the queue, which is not empty.
  [[nodiscard]] WaiterId first() const { return places_[first_].id; }
  /// Takes the first acquisition out of the queue, which is not empty; the caller sends it.
  WaiterId take() {
    const WaiterId id = places_[first_].id;
    unlink(first_);
    ++sent_;
    return id;
  }

  /// Counts an attempt that begins, whether it was queued or not.
  void attempt_begins() { ++out_; }
  /// Counts an attempt that is won, lost or given up.
  void attempt_ends() { --out_; }

  /// How many attempts are not decided.
  [[nodiscard]] int out() const { return out_; }
  /// How many acquisitions are queued.
  [[nodiscard]] std::size_t queued() const { return queued_; }

 private:
  static constexpr std::uint32_t none = ~0U;
  struct Place {
    WaiterId id;
    std::uint32_t before = none, after = none;  // neighbours in the queue, by index
    std::uint64_t turn = 0;  // the value of sent_ once all queued before this one are sent
    bool taken = false;
  };

  void unlink(std::uint32_t index) {
    Place& place = places_[index];
    (place.before == none ? first_ : places_[place.before].after) = place.after;
    (place.after == none ? last_ : places_[place.after].before) = place.before;
    place.taken = false;
    --queued_;
  }

  const int most_out_;
  int out_ = 0;
  std::size_t queued_ = 0;
  std::uint64_t sent_ = 0;  // acquisitions that were queued first
  std::uint32_t first_ = none, last_ = none;
  std::vector<Place> places_;  // indexed by the waiter's index
};

}  // namespace quorumlock::core
