#include "api/operations.hpp"

#include <utility>

#include "api/look.hpp"
#include "loop/call_later.hpp"

namespace quorumlock::detail {
namespace {

const Router& present(const SharedRouter& router, const char* call) {
  if (router == nullptr) throw moved_from(call);
  router->refuse_in_child(call);
  return *router;
}

}  // namespace

Error moved_from(const char* call) {
  return {Errc::closed, std::string("cannot ") + call + ": the coordinator was moved from"};
}

AcquireAwaitable acquire(SharedRouter router, std::string resource, LockOptions options,
                         std::stop_token stop) {
  return AcquireAwaitable(
      [router = std::move(router), resource = std::move(resource), options](
          std::stop_token either, Handler<Result<Lease>> handler) mutable {
        if (router == nullptr) throw moved_from("lock");
        const std::shared_ptr<Runtime>& runtime = router->of(resource);
        runtime->acquire(std::move(resource), options, std::move(either), std::move(handler));
      },
      std::move(stop));
}

AcquireAwaitable acquire_all(SharedRouter router, Resources resources, LockOptions options,
                             std::stop_token stop) {
  return AcquireAwaitable(
      [router = std::move(router), resources = std::move(resources), options](
          std::stop_token either, Handler<Result<Lease>> handler) mutable {
        if (router == nullptr) throw moved_from("lock");
        router->acquire_all(std::move(resources).names(), options, std::move(either),
                            std::move(handler));
      },
      std::move(stop));
}

AcquireAwaitable acquire_permit(SharedRouter router, std::string resource, std::ptrdiff_t capacity,
                                LockOptions options, std::stop_token stop) {
  return AcquireAwaitable(
      [router = std::move(router), resource = std::move(resource), capacity, options](
          std::stop_token either, Handler<Result<Lease>> handler) mutable {
        if (router == nullptr) throw moved_from("get a permit");
        const std::shared_ptr<Runtime>& runtime = router->of(resource);
        runtime->acquire_permit(std::move(resource), capacity, options, std::move(either),
                                std::move(handler));
      },
      std::move(stop));
}

Awaitable<Result<Clock::time_point>> extend(SharedRouter router, Resources resources,
                                            OwnerToken token, std::chrono::nanoseconds ttl) {
  using Extended = Result<Clock::time_point>;
  return awaitable_of<Extended>([router = std::move(router), resources = std::move(resources),
                                 token = std::move(token), ttl](Handler<Extended> handler) mutable {
    const Router& at = present(router, "extend");
    if (Result<void> fine = check_ttl(at.options(), ttl); !fine) {
      return call_later<Extended>(*at.groups().front(), std::move(handler), fine.error());
    }
    at.call_by_token(std::move(resources).names(), token, ttl, std::move(handler));
  });
}

Awaitable<Result<void>> release(SharedRouter router, Resources resources, OwnerToken token) {
  return awaitable_of<Result<void>>([router = std::move(router), resources = std::move(resources),
                                     token =
                                         std::move(token)](Handler<Result<void>> handler) mutable {
    present(router, "release")
        .call_by_token(std::move(resources).names(), token, std::chrono::nanoseconds::zero(),
                       [then = std::move(handler)](const Result<Clock::time_point>& done) mutable {
                         then(done ? Result<void>() : done.error());
                       });
  });
}

Awaitable<Result<Inspection>> inspect(SharedRouter router, std::string resource) {
  return awaitable_of<Result<Inspection>>(
      [router = std::move(router),
       resource = std::move(resource)](Handler<Result<Inspection>> handler) mutable {
        const Router& at = present(router, "inspect");
        const std::shared_ptr<Runtime>& runtime = at.of(resource);
        if (Result<void> fine = check_resource(at.options(), resource); !fine) {
          return call_later<Result<Inspection>>(*runtime, std::move(handler), fine.error());
        }
        auto look = std::make_unique<Look>();
        look->inspection.resource = std::move(resource);
        look->handler = std::move(handler);
        runtime->post(look.release());
      });
}

Awaitable<Result<ClusterStatus>> status(SharedRouter router) {
  return awaitable_of<Result<ClusterStatus>>(
      [router = std::move(router)](Handler<Result<ClusterStatus>> handler) {
        present(router, "look at the nodes").async_status(std::move(handler));
      });
}

Awaitable<Done> close(SharedRouter router) {
  return awaitable_of<Done>([router = std::move(router)](Handler<Done> handler) {
    present(router, "close").async_close([then = std::move(handler)]() mutable { then(Done()); });
  });
}

}  // namespace quorumlock::detail
