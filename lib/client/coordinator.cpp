#include <quorumlock/coordinator.hpp>

#include <utility>

#include "client/blocking.hpp"
#include "client/create_enrolling.hpp"
#include "client/look.hpp"
#include "client/router.hpp"

namespace quorumlock {

using client::Router;

namespace {

Error gone(const char* call) {
  return {Errc::closed, std::string("cannot ") + call + ": the coordinator was moved from"};
}

}  // namespace

Result<Coordinator> Coordinator::create(Options options) {
  Result<std::shared_ptr<Router>> router = Router::with_threads(std::move(options));
  if (!router) return router.error();
  return Coordinator(std::move(*router));
}

Result<Coordinator> client::create_enrolling(Options options) {
  options.loops = 1;
  Result<std::shared_ptr<Router>> router = Router::with_threads(std::move(options), true);
  if (!router) return router.error();
  return Coordinator(std::move(*router));
}

void client::vouch_for_groups(const Coordinator& coordinator) {
  if (coordinator.router_ != nullptr) coordinator.router_->vouch();
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
  if (router_ == nullptr) return handler(gone("lock"));
  router_->of(resource)->acquire(std::move(resource), options, std::move(stop), std::move(handler));
}

void Coordinator::async_acquire_all(std::vector<std::string> resources, LockOptions options,
                                    std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  if (router_ == nullptr) return handler(gone("lock"));
  router_->acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
}

Result<Lease> Coordinator::acquire(std::string_view resource, LockOptions options,
                                   std::stop_token stop) {
  if (router_ == nullptr) return gone("lock");
  if (const auto error = router_->cannot_block("lock")) return *error;
  return client::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire(std::string(resource), options, std::move(stop), std::move(handler));
  });
}

Result<Lease> Coordinator::acquire_all(std::vector<std::string> resources, LockOptions options,
                                       std::stop_token stop) {
  if (router_ == nullptr) return gone("lock");
  if (const auto error = router_->cannot_block("lock")) return *error;
  return client::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
  });
}

AcquireAwaitable Coordinator::co_acquire(std::string resource, LockOptions options,
                                         std::stop_token stop) {
  std::vector<std::string> resources;
  resources.push_back(std::move(resource));
  return {router_, std::move(resources), options, std::move(stop)};
}

AcquireAwaitable Coordinator::co_acquire_all(std::vector<std::string> resources,
                                             LockOptions options, std::stop_token stop) {
  return {router_, std::move(resources), options, std::move(stop)};
}

void AcquireAwaitable::await_suspend(std::coroutine_handle<> caller) {
  auto handler = [this, caller](Result<Lease> result) {
    result_.emplace(std::move(result));
    caller.resume();
  };
  // The coroutine may go on, and this be gone, before the call below returns.
  const std::shared_ptr<Router> router = std::move(router_);
  if (router == nullptr) return handler(gone("lock"));
  if (capacity_) {
    return router->of(resources_.front())
        ->acquire_permit(std::move(resources_.front()), *capacity_, options_, std::move(stop_),
                         std::move(handler));
  }
  router->acquire_all(std::move(resources_), options_, std::move(stop_), std::move(handler));
}

Result<Clock::time_point> Coordinator::extend(std::string_view resource, const OwnerToken& token,
                                              std::chrono::nanoseconds ttl) {
  if (router_ == nullptr) return gone("extend");
  if (const auto error = router_->cannot_block("extend")) return *error;
  const Options& options = router_->options();
  if (Result<void> fine = client::check_ttl(options, ttl); !fine) return fine.error();
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
  if (Result<void> fine = client::check_resource(options, resource); !fine) return fine.error();
  return client::wait_for<Result<Inspection>>([&](auto handler) {
    auto look = std::make_unique<client::Look>();
    look->inspection.resource = resource;
    look->handler = std::move(handler);
    router_->of(resource)->post(look.release());
  });
}

Result<ClusterStatus> Coordinator::status() {
  if (router_ == nullptr) return gone("look at the nodes");
  if (const auto error = router_->cannot_block("look at the nodes")) return *error;
  return client::wait_for<Result<ClusterStatus>>(
      [&](auto handler) { async_status(std::move(handler)); });
}

void Coordinator::async_status(detail::Handler<Result<ClusterStatus>> handler) {
  if (router_ == nullptr) return handler(gone("look at the nodes"));
  if (router_->forked()) return handler(router_->closed_error("look at the nodes"));
  router_->async_status(std::move(handler));
}

Stats Coordinator::stats() const {
  if (router_ == nullptr || router_->forked()) return {};
  return router_->stats();
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
  if (router_ == nullptr) return handler();
  router_->async_close(std::move(handler));
}

}  // namespace quorumlock
