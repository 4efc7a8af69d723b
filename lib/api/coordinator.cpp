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
  const Options& options = router_->options();
  if (Result<void> fine = detail::check_ttl(options, ttl); !fine) return fine.error();
  return router_->of(resource)->call_by_token(resource, token, ttl);
}

Result<void> Coordinator::release(std::string_view resource, const OwnerToken& token) {
  if (router_ == nullptr) return gone("release");
  if (const auto error = router_->cannot_block("release")) return *error;
  const auto result =
      router_->of(resource)->call_by_token(resource, token, std::chrono::nanoseconds::zero());
  if (!result) return result.error();
  return {};
}

Result<Inspection> Coordinator::inspect(std::string_view resource) {
  if (router_ == nullptr) return gone("inspect");
  if (const auto error = router_->cannot_block("inspect")) return *error;
  const Options& options = router_->options();
  if (Result<void> fine = detail::check_resource(options, resource); !fine) return fine.error();
  return detail::wait_for<Result<Inspection>>([&](auto handler) {
    auto look = std::make_unique<detail::Look>();
    look->inspection.resource = resource;
    look->handler = std::move(handler);
    router_->of(resource)->post(look.release());
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
  return Awaitable<detail::Done>(
      [router = router_](const std::stop_token&, detail::Handler<detail::Done> handler) {
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
