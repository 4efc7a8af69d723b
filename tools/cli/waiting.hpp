#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <quorumlock/coordinator.hpp>
#include <quorumlock/result.hpp>

#include "event.hpp"
#include "meanwhile.hpp"
#include "nodes_watch.hpp"
#include "signals.hpp"

namespace quorumlock::cli {

/// The result of an operation, and the signal that asked us to end while it was awaited, or 0.
template <class T>
struct Awaited {
  Result<T> result;
  int asked = 0;
};

/// Starts an operation on the loop, `start(stop token, handler)`, and waits for its result on this
/// thread. SIGINT, SIGTERM, SIGHUP or SIGQUIT requests the stop token to stop; if the operation
/// takes none, as `start(handler)`, its result is not awaited after such a signal. If `nodes` is
/// given and has a file to look at, SIGHUP reads that instead.
template <class T, class Start>
Awaited<T> await(Signals& signals, Start start, const Meanwhile& meanwhile = never_again,
                 NodesWatch* nodes = nullptr) {
  struct Answer {
    std::promise<Result<T>> promise;
    Event given;
  };
  const auto answer = std::make_shared<Answer>();
  std::future<Result<T>> future = answer->promise.get_future();
  std::stop_source cancel;
  auto handler = [answer](Result<T> result) {
    answer->promise.set_value(std::move(result));
    answer->given.set();
  };
  constexpr bool takes_stop = std::is_invocable_v<Start, std::stop_token, decltype(handler)>;
  if constexpr (takes_stop) {
    start(cancel.get_token(), std::move(handler));
  } else {
    start(std::move(handler));
  }
  int asked = 0;
  pollfd ready[] = {{signals.fd(), POLLIN, 0}, {answer->given.fd(), POLLIN, 0}};
  do {
    await_ready(ready, meanwhile());
    if (asked == 0) asked = signals.asked_to_end();
    if (asked == SIGHUP && nodes != nullptr && nodes->look_now()) asked = 0;
    if (asked != 0) cancel.request_stop();
    if (asked != 0 && !takes_stop) return {Error(Errc::cancelled, "asked to end"), asked};
  } while ((ready[1].revents & POLLIN) == 0);
  return {future.get(), asked};
}

/// Gives up what is held, `start(handler)`, and closes the coordinator. Nodes that do not answer
/// cost the time of one of the two only: close() waits for what was sent before.
template <class Start>
Result<void> give_up_and_close(Coordinator& coordinator, Start start) {
  constexpr std::chrono::milliseconds usually_answered_in{250};
  const auto answer = std::make_shared<std::promise<Result<void>>>();
  std::future<Result<void>> future = answer->get_future();
  start([answer](Result<void> result) { answer->set_value(std::move(result)); });
  future.wait_for(usually_answered_in);
  coordinator.close();
  return future.get();
}

}  // namespace quorumlock::cli
