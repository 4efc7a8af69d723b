#include <quorumlock/mutex.hpp>

#include <utility>

#include "api/thread_leases.hpp"

namespace quorumlock {

struct Mutex::State : detail::ThreadLeases {
  using ThreadLeases::ThreadLeases;
};

Mutex::Mutex(Coordinator& coordinator, std::string resource, LockOptions options)
    : state_(std::make_shared<State>(coordinator, std::move(resource), options)) {}

Mutex::~Mutex() = default;

void Mutex::lock(std::stop_token stop) {
  state_->lock(LockMode::exclusive, std::move(stop));
}

bool Mutex::try_lock() {
  return try_lock_within(std::chrono::nanoseconds::zero());
}

bool Mutex::try_lock_within(std::chrono::nanoseconds patience) {
  return state_->try_lock(LockMode::exclusive, patience);
}

void Mutex::unlock() {
  state_->unlock(LockMode::exclusive);
}

Lease& Mutex::lease() {
  return state_->lease();
}

void Mutex::async_lock(std::stop_token stop, Handler<Result<Lease>> handler) {
  detail::begin("lock", co_lock(), std::move(handler), std::move(stop));
}

void Mutex::async_unlock(Handler<Result<void>> handler) {
  detail::begin("unlock", co_unlock(), std::move(handler));
}

Awaitable<Result<void>> Mutex::co_unlock() {
  return state_->co_unlock(LockMode::exclusive);
}

AcquireAwaitable Mutex::co_lock(std::stop_token stop) {
  return state_->co_lock(LockMode::exclusive, std::move(stop));
}

}  // namespace quorumlock
