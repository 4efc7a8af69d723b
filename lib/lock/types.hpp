#pragma once

#include <bit>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include <quorumlock/clock.hpp>

/// The protocol as pure state machines: time, replies and randomness come in as arguments.
namespace quorumlock::core {

using Time = Clock::time_point;  // only the type: nothing in core reads the clock
using Duration = Clock::duration;
inline constexpr Time never = Time::max();

/// `base + span`, or `never` if that is out of range (a wait without limit).
constexpr Time later(Time base, Duration span) {
  return span >= never - base ? never : base + span;
}

inline constexpr int max_nodes = 32;

/// A set of nodes, by their index in Options::nodes. One word, by value.
class NodeSet {
 public:
  constexpr NodeSet() = default;
  static constexpr NodeSet first(int count) {
    NodeSet set;
    set.bits_ = count >= max_nodes ? ~0U : (1U << count) - 1;
    return set;
  }
  static constexpr NodeSet only(int node) {
    NodeSet set;
    set.bits_ = 1U << node;
    return set;
  }

  constexpr void add(int node) { bits_ |= 1U << node; }
  constexpr void remove(int node) { bits_ &= ~(1U << node); }
  [[nodiscard]] constexpr bool contains(int node) const { return (bits_ >> node & 1U) != 0; }
  /// Counts without std::popcount, which is a function call in code for the x86-64 baseline.
  [[nodiscard]] constexpr int size() const {
    std::uint32_t sums = bits_ - (bits_ >> 1U & 0x55555555U);
    sums = (sums & 0x33333333U) + (sums >> 2U & 0x33333333U);
    return static_cast<int>(((sums + (sums >> 4U)) & 0x0f0f0f0fU) * 0x01010101U >> 24U);
  }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  /// The set as a word: bit i stands for node i.
  [[nodiscard]] constexpr std::uint32_t bits() const { return bits_; }

  constexpr NodeSet operator|(NodeSet other) const { return NodeSet(bits_ | other.bits_); }
  constexpr NodeSet operator&(NodeSet other) const { return NodeSet(bits_ & other.bits_); }
  constexpr NodeSet operator-(NodeSet other) const { return NodeSet(bits_ & ~other.bits_); }
  constexpr bool operator==(const NodeSet&) const = default;

  /// Iterates over the members, in order.
  class Iterator {
   public:
    constexpr explicit Iterator(std::uint32_t bits) : bits_(bits) {}
    constexpr int operator*() const { return std::countr_zero(bits_); }
    constexpr Iterator& operator++() {
      bits_ &= bits_ - 1;
      return *this;
    }
    constexpr bool operator==(const Iterator&) const = default;

   private:
    std::uint32_t bits_;
  };
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(bits_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(0); }

 private:
  constexpr explicit NodeSet(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

/// Microseconds since the clock's beginning.
constexpr std::int64_t microseconds_of(Time time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// The source of random bits: the kernel in a program, a seed in a simulation.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> bytes) = 0;
  /// Uniform in [0, bound); zero for a bound of zero.
  Duration below(Duration bound);
};

/// The wall clock, which is used only for hints, never for an expiry.
class WallClock {
 public:
  virtual ~WallClock() = default;
  /// Microseconds since 1970.
  virtual std::int64_t now_us() = 0;
};

}  // namespace quorumlock::core
