#include "lock.hpp"

#include <poll.h>

#include <future>
#include <memory>
#include <stop_token>

#include "event.hpp"
#include "failure.hpp"

namespace quorumlock::cli {
namespace {

/// The result that the loop's thread hands over to the main thread.
struct Answer {
  std::promise<Result<Lease>> promise;
  Event given;
};

}  // namespace

Lease lock(Coordinator& coordinator, const std::vector<std::string>& resources,
           const LockOptions& options, Signals& signals) {
  const auto answer = std::make_shared<Answer>();
  std::future<Result<Lease>> future = answer->promise.get_future();
  std::stop_source cancel;
  coordinator.async_acquire_all(resources, options, cancel.get_token(),
                                [answer](Result<Lease> result) {
                                  answer->promise.set_value(std::move(result));
                                  answer->given.set();
                                });
  int asked = 0;
  pollfd ready[] = {{signals.fd(), POLLIN, 0}, {answer->given.fd(), POLLIN, 0}};
  do {
    ::poll(ready, 2, -1);
    if (asked == 0) asked = signals.asked_to_end();
    if (asked != 0) cancel.request_stop();
  } while ((ready[1].revents & POLLIN) == 0);

  Result<Lease> lease = future.get();
  if (asked != 0) {
    if (lease) (void)lease->release();
    throw Failure::interrupted(asked, "while waiting for the lock: nothing is held");
  }
  if (!lease) throw Failure(lease.error());
  return *std::move(lease);
}

}  // namespace quorumlock::cli
