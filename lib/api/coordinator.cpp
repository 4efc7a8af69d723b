#include <quorumlock/coordinator.hpp>

#include <utility>

#include "admin/look.hpp"
#include "api/check_handler.hpp"
#include "api/router.hpp"
#include "config/quoted.hpp"
#include "core/owner_token.hpp"
#include "loop/blocking.hpp"

namespace quorumlock {

using detail::Router;

namespace {

Error gone(const char* call) {
  return {Errc::closed, std::string("cannot ") + call + ": the coordinator was moved from"};
}

std::vector<std::string> strings(std::initializer_list<std::string_view> views) {
  return {views.begin(), views.end()};
}

// The operations that the blocking calls and the coroutines share. They report a bad argument
// within the call.

using Extended = Result<Clock::time_point>;

void extend_by_token(const Router& router, std::string resource, const OwnerToken& token,
                     std::chrono::nanoseconds ttl, detail::Handler<Extended> handler) {
  router.refuse_in_child("extend");
  if (Result<void> fine = detail::check_ttl(router.options(), ttl); !fine) {
    return handler(fine.error());
  }
  const auto& runtime = router.of(resource);
  runtime->call_by_token(std::move(resource), token, ttl, std::move(handler));
}

void release_by_token(const Router& router, std::string resource, const OwnerToken& token,
                      detail::Handler<Result<void>> handler) {
  router.refuse_in_child("release");
  const auto& runtime = router.of(resource);
  runtime->call_by_token(std::move(resource), token, std::chrono::nanoseconds::zero(),
                         [then = std::move(handler)](const Extended& done) mutable {
                           then(done ? Result<void>() : done.error());
                         });
}

void look(const Router& router, std::string resource, detail::Handler<Result<Inspection>> handler) {
  router.refuse_in_child("inspect");
  if (Result<void> fine = detail::check_resource(router.options(), resource); !fine) {
    return handler(fine.error());
  }
  auto look = std::make_unique<detail::Look>();
  const auto& runtime = router.of(resource);
  look->inspection.resource = std::move(resource);
  look->handler = std::move(handler);
  runtime->post(look.release());
}

}  // namespace

Result<Coordinator> Coordinator::create(Options options) {
  Result<std::shared_ptr<Router>> router = Router::with_threads(std::move(options));
  if (!router) return router.error();
  return Coordinator(std::move(*router));
}

Result<Coordinator> Coordinator::attach(uv_loop_s* loop, Options options) {
  Result<std::shared_ptr<Router>> router = Router::attached(loop, std::move(options));
  if (!router) return router.error();
  return Coordinator(std::move(*router));
}

Coordinator& Coordinator::operator=(Coordinator&& other) noexcept {
  if (this != &other) {
    if (router_ != nullptr) router_->abandon();
    router_ = std::move(other.router_);
  }
  return *this;
}

Coordinator::~Coordinator() {
  if (router_ != nullptr) router_->abandon();
}

void Coordinator::async_acquire(std::string resource, LockOptions options, std::stop_token stop,
                                detail::Handler<Result<Lease>> handler) {
  detail::check_handler(handler, "lock");
  if (router_ == nullptr) throw gone("lock");
  router_->of(resource)->acquire(std::move(resource), options, std::move(stop), std::move(handler));
}

void Coordinator::async_acquire(std::string resource, LockOptions options,
                                detail::Handler<Result<Lease>> handler) {
  async_acquire(std::move(resource), options, {}, std::move(handler));
}

void Coordinator::async_acquire(std::string resource, detail::Handler<Result<Lease>> handler) {
  async_acquire(std::move(resource), {}, {}, std::move(handler));
}

void Coordinator::async_acquire_all(std::initializer_list<std::string_view> resources,
                                    LockOptions options, std::stop_token stop,
                                    detail::Handler<Result<Lease>> handler) {
  async_acquire_all(strings(resources), options, std::move(stop), std::move(handler));
}

void Coordinator::async_acquire_all(std::vector<std::string> resources, LockOptions options,
                                    std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  detail::check_handler(handler, "lock");
  if (router_ == nullptr) throw gone("lock");
  router_->acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
}

Result<Lease> Coordinator::acquire(std::string_view resource, LockOptions options,
                                   std::stop_token stop) {
  if (router_ == nullptr) return gone("lock");
  if (const auto error = router_->cannot_block("lock")) return *error;
  return detail::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire(std::string(resource), options, std::move(stop), std::move(handler));
  });
}

Result<Lease> Coordinator::acquire_all(std::vector<std::string> resources, LockOptions options,
                                       std::stop_token stop) {
  if (router_ == nullptr) return gone("lock");
  if (const auto error = router_->cannot_block("lock")) return *error;
  return detail::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
  });
}

Result<Lease> Coordinator::acquire_all(std::initializer_list<std::string_view> resources,
                                       LockOptions options, std::stop_token stop) {
  return acquire_all(strings(resources), options, std::move(stop));
}

AcquireAwaitable Coordinator::co_acquire(std::string resource, LockOptions options,
                                         std::stop_token stop) {
  return AcquireAwaitable(
      [router = router_, resource = std::move(resource), options](
          std::stop_token either, detail::Handler<Result<Lease>> handler) mutable {
        if (router == nullptr) throw gone("lock");
        router->of(resource)->acquire(std::move(resource), options, std::move(either),
                                      std::move(handler));
      },
      std::move(stop));
}

AcquireAwaitable Coordinator::co_acquire_all(detail::Resources resources, LockOptions options,
                                             std::stop_token stop) {
  return AcquireAwaitable(
      [router = router_, resources = std::move(resources.names), options](
          std::stop_token either, detail::Handler<Result<Lease>> handler) mutable {
        if (router == nullptr) throw gone("lock");
        router->acquire_all(std::move(resources), options, std::move(either), std::move(handler));
      },
      std::move(stop));
}

std::string_view OwnerToken::label() const noexcept {
  return core::OwnerToken::read(text_).label;
}

Result<Clock::time_point> Coordinator::extend(std::string_view resource, const OwnerToken& token,
                                              std::chrono::nanoseconds ttl) {
  if (router_ == nullptr) return gone("extend");
  if (const auto error = router_->cannot_block("extend")) return *error;
  return detail::wait_for<Extended>([&](auto handler) {
    extend_by_token(*router_, std::string(resource), token, ttl, std::move(handler));
  });
}

Awaitable<Result<Clock::time_point>> Coordinator::co_extend(std::string resource, OwnerToken token,
                                                            std::chrono::nanoseconds ttl) {
  return detail::awaitable_of<Extended>([router = router_, resource = std::move(resource),
                                         token = std::move(token), ttl](auto handler) mutable {
    if (router == nullptr) throw gone("extend");
    extend_by_token(*router, std::move(resource), token, ttl, std::move(handler));
  });
}

Result<void> Coordinator::release(std::string_view resource, const OwnerToken& token) {
  if (router_ == nullptr) return gone("release");
  if (const auto error = router_->cannot_block("release")) return *error;
  return detail::wait_for<Result<void>>([&](auto handler) {
    release_by_token(*router_, std::string(resource), token, std::move(handler));
  });
}

Awaitable<Result<void>> Coordinator::co_release(std::string resource, OwnerToken token) {
  return detail::awaitable_of<Result<void>>([router = router_, resource = std::move(resource),
                                             token = std::move(token)](auto handler) mutable {
    if (router == nullptr) throw gone("release");
    release_by_token(*router, std::move(resource), token, std::move(handler));
  });
}

Result<Inspection> Coordinator::inspect(std::string_view resource) {
  if (router_ == nullptr) return gone("inspect");
  if (const auto error = router_->cannot_block("inspect")) return *error;
  return detail::wait_for<Result<Inspection>>(
      [&](auto handler) { look(*router_, std::string(resource), std::move(handler)); });
}

Awaitable<Result<Inspection>> Coordinator::co_inspect(std::string resource) {
  return detail::awaitable_of<Result<Inspection>>(
      [router = router_, resource = std::move(resource)](auto handler) mutable {
        if (router == nullptr) throw gone("inspect");
        look(*router, std::move(resource), std::move(handler));
      });
}

Result<ClusterStatus> Coordinator::status() {
  if (router_ == nullptr) return gone("look at the nodes");
  if (const auto error = router_->cannot_block("look at the nodes")) return *error;
  return detail::wait_for<Result<ClusterStatus>>(
      [&](auto handler) { async_status(std::move(handler)); });
}

void Coordinator::async_status(detail::Handler<Result<ClusterStatus>> handler) {
  detail::check_handler(handler, "look at the nodes");
  if (router_ == nullptr) throw gone("look at the nodes");
  router_->refuse_in_child("look at the nodes");
  router_->async_status(std::move(handler));
}

Awaitable<Result<ClusterStatus>> Coordinator::co_status() {
  return detail::awaitable_of<Result<ClusterStatus>>([router = router_](auto handler) {
    if (router == nullptr) throw gone("look at the nodes");
    router->refuse_in_child("look at the nodes");
    router->async_status(std::move(handler));
  });
}

Stats Coordinator::stats() const {
  if (router_ == nullptr || router_->forked()) return {};
  return router_->stats();
}

Result<void> Coordinator::set_nodes(Nodes nodes) {
  if (router_ == nullptr) return gone("set the nodes");
  return router_->set_nodes(std::nullopt, std::move(nodes));
}

Result<void> Coordinator::set_nodes(std::string_view group, Nodes nodes) {
  if (router_ == nullptr) return gone("set the nodes");
  return router_->set_nodes(std::string(group), std::move(nodes));
}

Result<void> Coordinator::enroll_new(bool force) {
  if (router_ == nullptr) return gone("enroll");
  if (const auto error = router_->cannot_block("enroll")) return *error;
  return router_->enroll_new(force);
}

void Coordinator::close() {
  if (router_ != nullptr) router_->close();
}

void Coordinator::async_close(detail::Handler<> handler) {
  detail::check_handler(handler, "close");
  if (router_ == nullptr) throw gone("close");
  router_->refuse_in_child("close");
  router_->async_close(std::move(handler));
}

Awaitable<detail::Done> Coordinator::co_close() {
  return detail::awaitable_of<detail::Done>([router = router_](auto handler) {
    if (router == nullptr) throw gone("close");
    router->refuse_in_child("close");
    router->async_close([then = std::move(handler)]() mutable { then(detail::Done()); });
  });
}

Result<void> detail::end_of_with_lock(Lease& held) {
  const bool stood = held.is_valid();
  const std::string resource = held.resource();
  const Result<void> released = held.release();
  // If fn has released the lease itself, or moved it elsewhere, it is not held here any more.
  if (released || released.error().code() == Errc::not_held) return {};
  if (stood && released.error().code() != Errc::lost) return {};
  return Error(Errc::lost, "the lease of " + detail::quoted(resource) +
                               " ended before the function returned that ran under it (" +
                               released.error().what() + ")");
}

}  // namespace quorumlock
