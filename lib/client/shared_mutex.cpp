#include <quorumlock/shared_mutex.hpp>

#include <utility>

#include "client/thread_leases.hpp"

namespace quorumlock {

struct SharedMutex::State : client::ThreadLeases {
  using ThreadLeases::ThreadLeases;
};

SharedMutex::SharedMutex(Coordinator& coordinator, std::string resource, LockOptions options)
    : state_(std::make_unique<State>(coordinator, std::move(resource), options)) {}

SharedMutex::~SharedMutex() = default;

void SharedMutex::lock() {
  state_->lock(LockMode::exclusive);
}

bool SharedMutex::try_lock() {
  return try_lock_within(LockMode::exclusive, std::chrono::nanoseconds::zero());
}

void SharedMutex::unlock() {
  state_->unlock(LockMode::exclusive);
}

void SharedMutex::lock_shared() {
  state_->lock(LockMode::shared);
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

}  // namespace quorumlock
