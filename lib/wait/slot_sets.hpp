#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lock/types.hpp"

// Sets of a semaphore's slots, numbered from 1 on, as bits: an operation on all slots costs one
// step for every 64 of them.
namespace quorumlock::core {

/// A view of a set whose words belong to the caller.
class SlotSet {
 public:
  static constexpr std::size_t words_for(int slots) {
    return (static_cast<std::size_t>(slots) + 63) / 64;
  }
  explicit SlotSet(std::span<std::uint64_t> words) : words_(words) {}

  [[nodiscard]] bool contains(int slot) const { return (words_[word(slot)] & bit(slot)) != 0; }
  void add(int slot) { words_[word(slot)] |= bit(slot); }
  void remove(int slot) { words_[word(slot)] &= ~bit(slot); }
  void clear() { std::ranges::fill(words_, 0); }
  /// Adds `count` slots starting at `from`, wrapping after slot `slots`.
  void add(int from, int count, int slots) {
    const int to_the_end = std::min(count, slots - from + 1);
    add_row(from, to_the_end);
    add_row(1, count - to_the_end);
  }
  void remove(SlotSet other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
  }
  [[nodiscard]] std::uint64_t operator[](std::size_t word) const { return words_[word]; }
  /// The first slot from `from` on, wrapping after slot `slots`, whose membership equals `in`; zero
  /// if there is none. Slots past the last word count as absent.
  [[nodiscard]] int next(int from, int slots, bool in = true) const {
    const int found = next_in_row(from, slots, in);
    return found != 0 ? found : next_in_row(1, from - 1, in);
  }

 private:
  static constexpr std::size_t word(int slot) { return static_cast<std::size_t>(slot - 1) / 64; }
  static constexpr std::uint64_t bit(int slot) { return std::uint64_t{1} << (slot - 1) % 64; }
  /// The bits of this slot and of those after it in its word.
  static constexpr std::uint64_t from_on(int slot) { return ~std::uint64_t{0} << (slot - 1) % 64; }

  void add_row(int from, int count) {
    if (count <= 0) return;
    const int last = from + count - 1;
    for (std::size_t i = word(from); i <= word(last); ++i) {
      std::uint64_t mask = ~std::uint64_t{0};
      if (i == word(from)) mask &= from_on(from);
      if (i == word(last)) mask &= ~(from_on(last) << 1U);
      words_[i] |= mask;
    }
  }
  [[nodiscard]] int next_in_row(int from, int last, bool in) const {
    if (from > last) return 0;
    for (std::size_t i = word(from); i <= word(last); ++i) {
      std::uint64_t bits = i < words_.size() ? words_[i] : 0;
      if (!in) bits = ~bits;
      if (i == word(from)) bits &= from_on(from);
      if (bits == 0) continue;
      const int found = static_cast<int>(64 * i) + std::countr_zero(bits) + 1;
      return found <= last ? found : 0;
    }
    return 0;
  }

  std::span<std::uint64_t> words_;
};

/// The nodes' reports on each slot of one semaphore: free, taken, or nothing.
class SlotViews {
 public:
  /// Nodes are numbered from 0 to `nodes` - 1.
  void begin(int nodes, int slots) {
    slots_ = slots;
    words_ = SlotSet::words_for(slots);
    bits_.assign(2 * static_cast<std::size_t>(nodes) * words_, 0);
    nodes_ = nodes;
  }

  /// Forgets what is known of the node with this number, which may be a new one.
  void add_node(int node) {
    nodes_ = std::max(nodes_, node + 1);
    bits_.resize(2 * static_cast<std::size_t>(nodes_) * words_);
    free_on(node).clear();
    taken_on(node).clear();
  }

  /// Records, if the node is known, that the slots from `from` on, wrapping, are taken up to
  /// `free`, which is free; if it is zero, all are taken. A slot known as free stays so until it is
  /// tried, since a message may overtake an older answer.
  void learn(int node, int from, int free) {
    if (from < 1 || from > slots_ || free < 0 || free > slots_ || node >= nodes_) return;
    SlotSet taken = taken_on(node);
    taken.clear();
    taken.add(from, free == 0 ? slots_ : (free - from + slots_) % slots_, slots_);
    taken.remove(free_on(node));
    if (free != 0) learn_free(node, free);
  }
  void learn_free(int node, int slot) {
    if (slot < 1 || slot > slots_ || node >= nodes_) return;
    free_on(node).add(slot);
    taken_on(node).remove(slot);
  }
  /// Forgets which slots this node has reported taken, since they may be free by now.
  void doubt(int node) {
    if (node < nodes_) taken_on(node).clear();
  }
  /// Forgets what is known of this slot.
  void forget(int slot) {
    for (int node = 0; node < nodes_; ++node) {
      free_on(node).remove(slot);
      taken_on(node).remove(slot);
    }
  }

  /// Of the slots that may be free on a quorum, the one that most of these nodes report free; zero
  /// if there is none. O(nodes * slots / 64), and O(nodes) for each slot reported free.
  [[nodiscard]] int likely(NodeSet asked, int quorum) {
    const int most_taken = asked.size() - quorum;
    int likely = 0;
    int most = 0;
    for (std::size_t word = 0; word < words_; ++word) {
      std::uint64_t named = 0;
      for (const int node : asked) named |= free_on(node)[word];
      for (; named != 0; named &= named - 1) {
        const std::uint64_t slot = named & (~named + 1);
        int free = 0;
        int taken = 0;
        for (const int node : asked) {
          free += (free_on(node)[word] & slot) != 0;
          taken += (taken_on(node)[word] & slot) != 0;
        }
        if (taken > most_taken || free <= most) continue;
        likely = static_cast<int>(64 * word) + std::countr_zero(slot) + 1;
        most = free;
      }
    }
    return likely;
  }
  /// How many of these nodes report this slot free.
  [[nodiscard]] int free_votes(NodeSet asked, int slot) {
    int votes = 0;
    for (const int node : asked) votes += free_on(node).contains(slot);
    return votes;
  }

 private:
  SlotSet free_on(int node) { return row(2 * node); }
  SlotSet taken_on(int node) { return row(2 * node + 1); }
  SlotSet row(int number) {
    return SlotSet({bits_.data() + static_cast<std::size_t>(number) * words_, words_});
  }

  int nodes_ = 0;
  int slots_ = 0;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> bits_;  // for each node a row of free slots, then one of taken slots
};

/// This process's own use of a semaphore's slots, which shows the slot to try first. Only a hint:
/// semaphores may share the object.
class OwnSlots {
 public:
  /// Notes that this process tries the slot, and perhaps holds it from then on.
  void use(int slot) {
    const std::size_t words = SlotSet::words_for(slot);
    if (words > used_.size()) {
      used_.resize(words);
      left_.resize(words);
    }
    SlotSet(used_).add(slot);
    SlotSet(left_).remove(slot);
  }
  /// Notes that this process no longer uses the slot, which another client may have.
  void drop(int slot) {
    if (SlotSet::words_for(slot) <= used_.size()) SlotSet(used_).remove(slot);
  }
  /// Notes that this process no longer uses the slot and has left it free.
  void leave(int slot) {
    drop(slot);
    if (SlotSet::words_for(slot) > left_.size()) return;
    SlotSet(left_).add(slot);
    last_ = slot;
  }

  /// A slot that was left free, beginning with the last one; zero for none.
  [[nodiscard]] int left(int slots) {
    return last_ == 0 ? 0 : SlotSet(left_).next(std::min(last_, slots), slots);
  }
  /// The first slot from `from` on that this process does not use; `from` if it uses all.
  [[nodiscard]] int unused(int from, int slots) {
    const int found = SlotSet(used_).next(from, slots, false);
    return found != 0 ? found : from;
  }

 private:
  std::vector<std::uint64_t> used_, left_;
  int last_ = 0;
};

}  // namespace quorumlock::core
