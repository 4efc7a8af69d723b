#pragma once

#include <memory>
#include <utility>

#include "loop/driver.hpp"
#include "loop/runtime.hpp"

namespace quorumlock::detail {

/// A call whose result is known without asking a node.
template <class T>
struct KnownResult final : Task {
  KnownResult(Handler<T> of_call, T known)
      : handler(std::move(of_call)), result(std::move(known)) {}
  Handler<T> handler;
  T result;
  void run(Driver& driver) override {
    driver.later([this] { dismiss(); });
  }
  void dismiss() override {
    const std::unique_ptr<KnownResult> mine(this);
    handler(std::move(result));
  }
};

/// Calls the handler with this result: on the loop, after the caller's own call has returned, or at
/// once if the loop is gone.
template <class T>
void call_later(Runtime& runtime, Handler<T> handler, T result) {
  runtime.post(std::make_unique<KnownResult<T>>(std::move(handler), std::move(result)).release());
}

}  // namespace quorumlock::detail
