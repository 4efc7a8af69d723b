#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>
#include <string>

#include <quorumlock/coordinator.hpp>

#include "api/check_handler.hpp"
#include "api/router.hpp"
#include "loop/blocking.hpp"

namespace quorumlock::detail {

using SharedRouter = std::shared_ptr<Router>;

/// Access to the router of a coordinator, which is null once the coordinator was moved from.
struct CoordinatorParts {
  static const SharedRouter& router(const Coordinator& coordinator) { return coordinator.router_; }
  static Coordinator with(SharedRouter router) { return Coordinator(std::move(router)); }
};

/// An operation of a coordinator, in one definition: its awaitable. The blocking form and the form
/// with a handler are made from that, so that no operation lacks one.
///
/// Without a router, and in a forked child, the awaitable throws Error(Errc::closed).
AcquireAwaitable acquire(SharedRouter router, std::string resource, LockOptions options,
                         std::stop_token stop);
AcquireAwaitable acquire_all(SharedRouter router, Resources resources, LockOptions options,
                             std::stop_token stop);
AcquireAwaitable acquire_permit(SharedRouter router, std::string resource, std::ptrdiff_t capacity,
                                LockOptions options, std::stop_token stop);
Awaitable<Result<Clock::time_point>> extend(SharedRouter router, Resources resources,
                                            OwnerToken token, std::chrono::nanoseconds ttl);
Awaitable<Result<void>> release(SharedRouter router, Resources resources, OwnerToken token);
Awaitable<Result<Inspection>> inspect(SharedRouter router, std::string resource);
Awaitable<Result<ClusterStatus>> status(SharedRouter router);
Awaitable<Done> close(SharedRouter router);

/// The error for an operation of a coordinator that was moved from.
Error moved_from(const char* call);

/// Begins an operation for a handler.
template <class T>
void begin(const char* call, Awaitable<T> operation, Handler<T> handler,
           std::stop_token stop = {}) {
  check_handler(handler, call);
  AwaitableParts::begin(operation, std::move(stop), std::move(handler));
}

/// Waits for an operation on this thread, which must not be a loop's.
template <class T>
T block_on(const SharedRouter& router, const char* call, Awaitable<T> operation,
           std::stop_token stop = {}) {
  if (router == nullptr) return moved_from(call);
  if (const auto error = router->cannot_block(call)) return *error;
  return wait_for<T>(
      [&](auto handler) { AwaitableParts::begin(operation, std::move(stop), std::move(handler)); });
}

}  // namespace quorumlock::detail
