#include <quorumlock/mutex.hpp>

#include <utility>

#include "api/thread_leases.hpp"

namespace quorumlock {

struct SharedMutex::State : detail::ThreadLeases {
  using ThreadLeases::ThreadLeases;
};

SharedMutex::SharedMutex(Coordinator& coordinator, std::string resource, LockOptions options)
    : state_(std::make_shared<State>(coordinator, std::move(resource), options)) {}

SharedMutex::~SharedMutex() = default;

void SharedMutex::lock(std::stop_token stop) {
  state_->lock(LockMode::exclusive, std::move(stop));
}

bool SharedMutex::try_lock() {
  return try_lock_within(LockMode::exclusive, std::chrono::nanoseconds::zero());
}

void SharedMutex::unlock() {
  state_->unlock(LockMode::exclusive);
}

void SharedMutex::lock_shared(std::stop_token stop) {
  state_->lock(LockMode::shared, std::move(stop));
}

bool SharedMutex::try_lock_shared() {
  return try_lock_within(LockMode::shared, std::chrono::nanoseconds::zero());
}

void SharedMutex::unlock_shared() {
  state_->unlock(LockMode::shared);
}

bool SharedMutex::try_lock_within(LockMode mode, std::chrono::nanoseconds patience) {
  return state_->try_lock(mode, patience);
}

void SharedMutex::downgrade() {
  Lease& mine = state_->lease(LockMode::exclusive);
  state_->convert(LockMode::shared);
  mine.downgrade().value();
}

Lease& SharedMutex::lease() {
  return state_->lease();
}

void SharedMutex::async_lock(std::stop_token stop, Handler<Result<Lease>> handler) {
  detail::begin("lock", co_lock(), std::move(handler), std::move(stop));
}

void SharedMutex::async_lock_shared(std::stop_token stop, Handler<Result<Lease>> handler) {
  detail::begin("lock", co_lock_shared(), std::move(handler), std::move(stop));
}

void SharedMutex::async_unlock(Handler<Result<void>> handler) {
  detail::begin("unlock", co_unlock(), std::move(handler));
}

void SharedMutex::async_unlock_shared(Handler<Result<void>> handler) {
  detail::begin("unlock", co_unlock_shared(), std::move(handler));
}

Awaitable<Result<void>> SharedMutex::co_unlock() {
  return state_->co_unlock(LockMode::exclusive);
}

Awaitable<Result<void>> SharedMutex::co_unlock_shared() {
  return state_->co_unlock(LockMode::shared);
}

AcquireAwaitable SharedMutex::co_lock(std::stop_token stop) {
  return state_->co_lock(LockMode::exclusive, std::move(stop));
}

AcquireAwaitable SharedMutex::co_lock_shared(std::stop_token stop) {
  return state_->co_lock(LockMode::shared, std::move(stop));
}

}  // namespace quorumlock
