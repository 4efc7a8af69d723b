#include <quorumlock/coordinator.hpp>

#include <utility>

#include "api/operations.hpp"
#include "config/quoted.hpp"

namespace quorumlock {

using detail::Router;

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

// These two begin at once, without an awaitable, which would allocate memory.

void Coordinator::async_acquire(std::string resource, LockOptions options, std::stop_token stop,
                                Handler<Result<Lease>> handler) {
  detail::check_handler(handler, "lock");
  if (router_ == nullptr) throw detail::moved_from("lock");
  router_->of(resource)->acquire(std::move(resource), options, std::move(stop), std::move(handler));
}

Result<Lease> Coordinator::acquire(std::string_view resource, LockOptions options,
                                   std::stop_token stop) {
  if (router_ == nullptr) return detail::moved_from("lock");
  if (const auto error = router_->cannot_block("lock")) return *error;
  return detail::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire(std::string(resource), options, std::move(stop), std::move(handler));
  });
}

AcquireAwaitable Coordinator::co_acquire(std::string resource, LockOptions options,
                                         std::stop_token stop) {
  return detail::acquire(router_, std::move(resource), options, std::move(stop));
}

Result<Lease> Coordinator::acquire_all(Resources resources, LockOptions options,
                                       std::stop_token stop) {
  return detail::block_on(router_, "lock", co_acquire_all(std::move(resources), options),
                          std::move(stop));
}

void Coordinator::async_acquire_all(Resources resources, LockOptions options, std::stop_token stop,
                                    Handler<Result<Lease>> handler) {
  detail::begin("lock", co_acquire_all(std::move(resources), options), std::move(handler),
                std::move(stop));
}

AcquireAwaitable Coordinator::co_acquire_all(Resources resources, LockOptions options,
                                             std::stop_token stop) {
  return detail::acquire_all(router_, std::move(resources), options, std::move(stop));
}

Result<Lease> Coordinator::acquire_permit(std::string_view resource, std::ptrdiff_t capacity,
                                          LockOptions options, std::stop_token stop) {
  return detail::block_on(router_, "get a permit",
                          co_acquire_permit(std::string(resource), capacity, options),
                          std::move(stop));
}

void Coordinator::async_acquire_permit(std::string resource, std::ptrdiff_t capacity,
                                       LockOptions options, std::stop_token stop,
                                       Handler<Result<Lease>> handler) {
  detail::begin("get a permit", co_acquire_permit(std::move(resource), capacity, options),
                std::move(handler), std::move(stop));
}

AcquireAwaitable Coordinator::co_acquire_permit(std::string resource, std::ptrdiff_t capacity,
                                                LockOptions options, std::stop_token stop) {
  return detail::acquire_permit(router_, std::move(resource), capacity, options, std::move(stop));
}

Result<Clock::time_point> Coordinator::extend(Resources resources, const OwnerToken& token,
                                              std::chrono::nanoseconds ttl) {
  return detail::block_on(router_, "extend", co_extend(std::move(resources), token, ttl));
}

void Coordinator::async_extend(Resources resources, OwnerToken token, std::chrono::nanoseconds ttl,
                               Handler<Result<Clock::time_point>> handler) {
  detail::begin("extend", co_extend(std::move(resources), std::move(token), ttl),
                std::move(handler));
}

Awaitable<Result<Clock::time_point>> Coordinator::co_extend(Resources resources, OwnerToken token,
                                                            std::chrono::nanoseconds ttl) {
  return detail::extend(router_, std::move(resources), std::move(token), ttl);
}

Result<void> Coordinator::release(Resources resources, const OwnerToken& token) {
  return detail::block_on(router_, "release", co_release(std::move(resources), token));
}

void Coordinator::async_release(Resources resources, OwnerToken token,
                                Handler<Result<void>> handler) {
  detail::begin("release", co_release(std::move(resources), std::move(token)), std::move(handler));
}

Awaitable<Result<void>> Coordinator::co_release(Resources resources, OwnerToken token) {
  return detail::release(router_, std::move(resources), std::move(token));
}

Result<Inspection> Coordinator::inspect(std::string_view resource) {
  return detail::block_on(router_, "inspect", co_inspect(std::string(resource)));
}

void Coordinator::async_inspect(std::string resource, Handler<Result<Inspection>> handler) {
  detail::begin("inspect", co_inspect(std::move(resource)), std::move(handler));
}

Awaitable<Result<Inspection>> Coordinator::co_inspect(std::string resource) {
  return detail::inspect(router_, std::move(resource));
}

Result<ClusterStatus> Coordinator::status() {
  return detail::block_on(router_, "look at the nodes", co_status());
}

void Coordinator::async_status(Handler<Result<ClusterStatus>> handler) {
  detail::begin("look at the nodes", co_status(), std::move(handler));
}

Awaitable<Result<ClusterStatus>> Coordinator::co_status() {
  return detail::status(router_);
}

Stats Coordinator::stats() const {
  if (router_ == nullptr || router_->forked()) return {};
  return router_->stats();
}

Result<void> Coordinator::set_nodes(Nodes nodes) {
  if (router_ == nullptr) return detail::moved_from("set the nodes");
  return router_->set_nodes(std::nullopt, std::move(nodes));
}

Result<void> Coordinator::set_nodes(std::string_view group, Nodes nodes) {
  if (router_ == nullptr) return detail::moved_from("set the nodes");
  return router_->set_nodes(std::string(group), std::move(nodes));
}

void Coordinator::close() {
  if (router_ != nullptr) router_->close();
}

void Coordinator::async_close(Handler<> handler) {
  detail::check_handler(handler, "close");
  detail::begin<Done>("close", co_close(), [then = std::move(handler)](Done) mutable { then(); });
}

Awaitable<Done> Coordinator::co_close() {
  return detail::close(router_);
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
