#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

namespace quorumlock::core {

/// A lock's key and an owner token, in one piece of memory that the engine's claim and the user's
/// lease share. The text does not change while it is shared; copies may be read and dropped on any
/// thread.
class KeyAndToken {
 public:
  KeyAndToken() noexcept = default;
  KeyAndToken(const KeyAndToken& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->sharers.fetch_add(1, std::memory_order_relaxed);
  }
  KeyAndToken(KeyAndToken&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  KeyAndToken& operator=(KeyAndToken other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~KeyAndToken() {
    if (block_ == nullptr || block_->sharers.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    block_->~Block();
    ::operator delete(block_);
  }

  /// Replaces the text, which must not be shared. Allocates if the new text does not fit.
  void assign(std::string_view key, std::string_view token) {
    const std::size_t size = key.size() + token.size();
    if (block_ == nullptr || block_->room < size) {
      *this = KeyAndToken();
      block_ = ::new (::operator new(sizeof(Block) + size)) Block;
      block_->room = static_cast<std::uint32_t>(size);
    }
    block_->key_size = static_cast<std::uint32_t>(key.size());
    block_->size = static_cast<std::uint32_t>(size);
    std::copy(token.begin(), token.end(), std::copy(key.begin(), key.end(), text()));
  }

  [[nodiscard]] std::string_view key() const {
    return block_ == nullptr ? std::string_view() : std::string_view(text(), block_->key_size);
  }
  [[nodiscard]] std::string_view token() const {
    if (block_ == nullptr) return {};
    return {text() + block_->key_size, block_->size - block_->key_size};
  }
  [[nodiscard]] bool shared() const {
    return block_ != nullptr && block_->sharers.load(std::memory_order_acquire) > 1;
  }
  [[nodiscard]] bool empty() const { return block_ == nullptr; }

 private:
  struct Block {
    std::atomic<std::uint32_t> sharers{1};
    std::uint32_t room = 0, size = 0, key_size = 0;  // sizes in bytes of the text that follows
  };
  [[nodiscard]] char* text() const { return reinterpret_cast<char*>(block_ + 1); }

  Block* block_ = nullptr;
};

}  // namespace quorumlock::core
