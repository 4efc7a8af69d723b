#include "lock.hpp"

#include <memory>
#include <stop_token>

#include <quorumlock/semaphore.hpp>

#include "failure.hpp"
#include "waiting.hpp"

namespace quorumlock::cli {
namespace {

/// Waits for the lease that `start` asks for.
template <class Start>
Lease lease_from(Coordinator& coordinator, Signals& signals, const Meanwhile& meanwhile,
                 const std::string& what, Start start) {
  Awaited<Lease> awaited = await<Lease>(signals, std::move(start), meanwhile);
  if (awaited.asked != 0) {
    const Outcome outcome =
        awaited.result ? awaited.result->outcome() : awaited.result.error().outcome();
    if (awaited.result) {
      (void)give_up_and_close(
          coordinator, [&](auto handler) { awaited.result->async_release(std::move(handler)); });
    }
    const Failure failure =
        Failure::interrupted(awaited.asked, "while waiting for " + what + ": nothing is held");
    throw outcome.trace.empty() ? failure : failure.with(outcome);
  }
  if (!awaited.result) throw Failure(awaited.result.error());
  return *std::move(awaited.result);
}

}  // namespace

Lease take_lock(Coordinator& coordinator, const std::vector<std::string>& resources,
                const LockOptions& options, Signals& signals, const Meanwhile& meanwhile) {
  return lease_from(
      coordinator, signals, meanwhile, "the lock", [&](std::stop_token stop, auto handler) {
        coordinator.async_acquire_all(resources, options, std::move(stop), std::move(handler));
      });
}

Lease take_permit(Coordinator& coordinator, const std::string& resource, int permits,
                  const LockOptions& options, Signals& signals, const Meanwhile& meanwhile) {
  Semaphore semaphore(coordinator, resource, permits, options);
  return lease_from(coordinator, signals, meanwhile, "a permit",
                    [&](std::stop_token stop, auto handler) {
                      semaphore.async_acquire(std::move(stop), std::move(handler));
                    });
}

}  // namespace quorumlock::cli
