#include "status_watch.hpp"

#include <future>

#include "event.hpp"

namespace quorumlock::cli {

std::optional<ClusterStatus> StatusWatch::look() {
  struct Answer {
    std::promise<Result<ClusterStatus>> promise;
    Event given;
  };
  const auto answer = std::make_shared<Answer>();
  std::future<Result<ClusterStatus>> future = answer->promise.get_future();
  coordinator_.async_status([answer](Result<ClusterStatus> status) {
    answer->promise.set_value(std::move(status));
    answer->given.set();
  });
  pollfd ready[] = {{signals_.fd(), POLLIN, 0}, {answer->given.fd(), POLLIN, 0}};
  while ((ready[1].revents & POLLIN) == 0) {
    await_ready(ready, meanwhile_());
    if (take_signals()) return std::nullopt;
  }
  Result<ClusterStatus> status = future.get();
  if (!status) throw Failure(status.error());
  return *std::move(status);
}

bool StatusWatch::pause(std::chrono::milliseconds length) {
  using Steady = std::chrono::steady_clock;
  const auto end = Steady::now() + length;
  pollfd ready[] = {{signals_.fd(), POLLIN, 0}};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Steady::now());
    if (left <= std::chrono::milliseconds::zero()) return true;
    await_ready(ready, sooner(static_cast<int>(left.count()), meanwhile_()));
    if (take_signals()) return false;
  }
}

bool StatusWatch::take_signals() {
  asked_ = signals_.asked_to_end();
  if (asked_ == SIGHUP && nodes_ != nullptr && nodes_->look_now()) asked_ = 0;
  return asked_ != 0;
}

}  // namespace quorumlock::cli
