#pragma once

#include <optional>
#include <semaphore>
#include <utility>

#include <quorumlock/handler.hpp>

namespace quorumlock::detail {

/// Starts an asynchronous call and waits, on this thread, for its handler's result.
template <class T, class Start>
T wait_for(Start&& start) {
  std::binary_semaphore done(0);
  std::optional<T> result;
  start(detail::Handler<T>([&](T value) {
    result.emplace(std::move(value));
    done.release();
  }));
  done.acquire();
  return std::move(*result);
}

}  // namespace quorumlock::detail
