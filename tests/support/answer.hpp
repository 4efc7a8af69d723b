#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/eventually.hpp"

namespace quorumlock::test {

/// The value that a handler was given, on which thread, and how often it was called.
template <class T>
class Answer {
 public:
  /// The handler may outlive the Answer.
  auto handler() {
    return [state = state_](T value) {
      const std::lock_guard<std::mutex> lock(state->guard);
      ++state->calls;
      state->thread = std::this_thread::get_id();
      state->value.emplace(std::move(value));
      state->changed.notify_all();
    };
  }

  /// Waits for the handler's value and returns it.
  T get() {
    std::unique_lock<std::mutex> lock(state_->guard);
    if (!state_->changed.wait_for(lock, patience, [this] { return state_->calls > 0; })) {
      throw std::runtime_error("the handler was never called");
    }
    return std::move(*state_->value);
  }
  [[nodiscard]] int calls() const {
    const std::lock_guard<std::mutex> lock(state_->guard);
    return state_->calls;
  }
  [[nodiscard]] std::thread::id thread() const {
    const std::lock_guard<std::mutex> lock(state_->guard);
    return state_->thread;
  }

 private:
  struct State {
    std::mutex guard;
    std::condition_variable changed;
    std::optional<T> value;
    std::thread::id thread;
    int calls = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace quorumlock::test
