#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace quorumlock::core {

/// Names an object in Slots for as long as it lives; afterwards it names nothing.
struct SlotId {
  std::uint32_t index = ~0U;
  std::uint32_t generation = 0;
  bool operator==(const SlotId&) const = default;
};

/// Objects that are taken and given back all the time, without an allocation once there are
/// enough of them. What a freed object holds (a string's capacity) is kept for its next user.
template <class T>
class Slots {
 public:
  SlotId take() {
    std::uint32_t index;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    slots_[index].used = true;
    ++used_;
    return {index, slots_[index].generation};
  }

  void give_back(SlotId id) {
    Slot& slot = slots_[id.index];
    slot.used = false;
    ++slot.generation;
    --used_;
    free_.push_back(id.index);
  }

  /// Null where the object has been given back.
  T* find(SlotId id) {
    if (id.index >= slots_.size()) return nullptr;
    Slot& slot = slots_[id.index];
    return slot.used && slot.generation == id.generation ? &slot.value : nullptr;
  }
  T& operator[](SlotId id) { return slots_[id.index].value; }
  SlotId at(std::uint32_t index) { return {index, slots_[index].generation}; }

  /// Calls fn(SlotId) for each object in use; fn may give that one back. O(the most ever in use).
  template <class F>
  void for_each(F&& fn) {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      if (slots_[index].used) fn(SlotId{index, slots_[index].generation});
    }
  }

  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  struct Slot {
    T value;
    std::uint32_t generation = 0;
    bool used = false;
  };
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace quorumlock::core
