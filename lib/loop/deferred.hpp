#pragma once

#include <utility>
#include <vector>

#include <quorumlock/handler.hpp>

namespace quorumlock::detail {

/// What is to run in this turn of the loop, but not inside the current call.
class Deferred {
 public:
  void add(Handler<> then) { all_.push_back(std::move(then)); }
  [[nodiscard]] bool empty() const { return all_.empty(); }
  /// Runs all that were added before.
  void run() {
    for (auto& then : std::exchange(all_, {})) then();
  }

 private:
  std::vector<Handler<>> all_;
};

}  // namespace quorumlock::detail
