#include "loop/own_loops.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <quorumlock/detail/clock_control.hpp>

#include "loop/blocking.hpp"
#include "loop/runtime.hpp"

namespace quorumlock::detail {
namespace {

struct All {
  std::mutex guard;
  std::vector<Runtime*> runtimes;
};

/// Never destroyed: a coordinator that is a global variable may outlive this library's own
/// variables.
All& all() {
  static All& it = *new All;
  return it;
}

/// A turn of a loop for everything that is due.
class Turn final : public Task {
 public:
  explicit Turn(Handler<core::Time> then) : then_(std::move(then)) {}
  void run(Driver& driver) override {
    const std::unique_ptr<Turn> mine(this);
    driver.catch_up(std::move(then_));
  }
  void dismiss() override {
    const std::unique_ptr<Turn> mine(this);
    then_(core::never);
  }

 private:
  Handler<core::Time> then_;
};

}  // namespace

void own_loops::add(Runtime& runtime) {
  const std::lock_guard<std::mutex> lock(all().guard);
  all().runtimes.push_back(&runtime);
}

void own_loops::remove(Runtime& runtime) {
  const std::lock_guard<std::mutex> lock(all().guard);
  std::erase(all().runtimes, &runtime);
}

Clock::time_point turn_loops() {
  std::vector<std::shared_ptr<Runtime>> runtimes;
  {
    const std::lock_guard<std::mutex> lock(all().guard);
    for (Runtime* runtime : all().runtimes) {
      if (auto kept = runtime->weak_from_this().lock()) runtimes.push_back(std::move(kept));
    }
  }
  core::Time next = core::never;
  for (const auto& runtime : runtimes) {
    if (runtime->forked()) continue;  // we are a child, and the loop is the parent's
    if (runtime->on_loop()) {
      throw std::logic_error("the test kit's clock cannot be moved on a coordinator's own loop");
    }
    next = std::min(next, wait_for<core::Time>([&](Handler<core::Time> then) {
                      runtime->post(new Turn(std::move(then)));
                    }));
  }
  return next;
}

}  // namespace quorumlock::detail
