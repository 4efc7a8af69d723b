#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "support/engine_driver.hpp"

namespace quorumlock::test {

/// Answers the commands of a fenced acquisition as a node does, without time: it has one key, whose
/// owner the test may take away, and its counter.
class FenceNode {
 public:
  explicit FenceNode(std::uint64_t at_first = 0) : counter_(at_first) {}

  core::Answer execute(const Command& command) {
    switch (command.tag.kind) {
      case CommandKind::acquire:
        if (!owner_.empty()) return {Vote::held, false, counter_};
        owner_ = command.token;
        counter_ = std::max(counter_, command.fence) + 1;
        return {Vote::granted, false, counter_};
      case CommandKind::raise:
        if (owner_ != command.token) return {Vote::absent, false, counter_};
        if (counter_ >= command.fence) return {Vote::held, false, counter_};
        counter_ = command.fence;
        return {Vote::granted, false, counter_};
      case CommandKind::release:
        if (owner_ != command.token) return {Vote::absent};
        owner_.clear();
        return {Vote::granted};
      default: return {Vote::failed};
    }
  }
  /// Lets the key expire.
  void expire() { owner_.clear(); }
  /// Gives the lock on this node to another client.
  void taken() {
    owner_ = "another";
    ++counter_;
  }
  [[nodiscard]] const std::string& owner() const { return owner_; }
  [[nodiscard]] std::uint64_t counter() const { return counter_; }

 private:
  std::string owner_;
  std::uint64_t counter_;
};

}  // namespace quorumlock::test
