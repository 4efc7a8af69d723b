#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quorumlock::core {

/// Names an object in Slots while the object is in use; later it names nothing.
struct SlotId {
  std::uint32_t index = ~0U;
  std::uint32_t generation = 0;
  bool operator==(const SlotId&) const = default;
};

/// A pool of objects that are taken and given back, without an allocation once there are enough of
/// them. A freed object keeps what it holds (a string's capacity) for its next user.
template <class T>
class Slots {
 public:
  SlotId take() {
    std::uint32_t index;
    if (free_.empty()) {
      if (size_ % chunk == 0) chunks_.push_back(std::make_unique<Chunk>());
      index = size_++;
    } else {
      index = free_.back();
      free_.pop_back();
    }
    place(index).used = true;
    ++used_;
    return {index, place(index).generation};
  }

  void give_back(SlotId id) {
    Slot& slot = place(id.index);
    slot.used = false;
    ++slot.generation;
    --used_;
    free_.push_back(id.index);
  }

  /// Returns null if the object has been given back.
  T* find(SlotId id) {
    if (id.index >= size_) return nullptr;
    Slot& slot = place(id.index);
    return slot.used && slot.generation == id.generation ? &slot.value : nullptr;
  }
  T& operator[](SlotId id) { return place(id.index).value; }
  SlotId at(std::uint32_t index) { return {index, place(index).generation}; }

  /// Calls fn(SlotId) for each object in use; fn may give that object back. O(the most ever used).
  template <class F>
  void for_each(F&& fn) {
    for (std::uint32_t index = 0; index < size_; ++index) {
      if (place(index).used) fn(SlotId{index, place(index).generation});
    }
  }

  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  struct Slot {
    std::uint32_t generation = 0;  // first, next to the fields of T that are read most
    bool used = false;
    T value;
  };
  // Objects are in chunks, so that they never move; a power of two makes finding an object cheap.
  static constexpr std::uint32_t chunk = 64;
  using Chunk = std::array<Slot, chunk>;

  Slot& place(std::uint32_t index) { return (*chunks_[index / chunk])[index % chunk]; }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::uint32_t size_ = 0;  // slots ever taken
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace quorumlock::core
