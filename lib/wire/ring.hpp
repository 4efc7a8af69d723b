#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace quorumlock::redis {

/// A queue that stops allocating once it is large enough (std::deque never does).
template <class T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return items_[(first_ + i) & (items_.size() - 1)]; }
  const T& operator[](std::size_t i) const { return items_[(first_ + i) & (items_.size() - 1)]; }

  void push(T item) { emplace(std::move(item)); }
  /// Appends an item that is constructed in place from `parts`; its constructor must not throw.
  template <class... Parts>
  void emplace(Parts&&... parts) {
    if (size_ == items_.size()) grow();
    T* const place = &(*this)[size_++];
    std::destroy_at(place);
    std::construct_at(place, std::forward<Parts>(parts)...);
  }
  T pop() {
    T item = std::move(items_[first_]);
    first_ = (first_ + 1) & (items_.size() - 1);
    --size_;
    return item;
  }

 private:
  void grow() {
    std::vector<T> larger(items_.empty() ? 16 : 2 * items_.size());
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move((*this)[i]);
    items_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> items_;  // a power of two of them
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace quorumlock::redis
