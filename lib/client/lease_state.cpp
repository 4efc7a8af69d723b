#include "client/lease_state.hpp"

#include <algorithm>
#include <utility>

#include "client/driver.hpp"
#include "client/runtime.hpp"

namespace quorumlock::client {

void LeaseState::begin(std::shared_ptr<Runtime> of, std::string name, core::ClaimId id,
                       std::string_view owner, std::uint64_t number, const core::Tally& votes,
                       int tries, core::Time end_of_it) {
  runtime = std::move(of);
  resource = std::move(name);
  std::copy_n(owner.begin(), token.size(), token.begin());
  fence = number;
  tally = votes;
  attempts = tries;
  claim = id;
  detached = false;
  ended_.store(Errc());
  warned_.store(false);
  valid_until_.store(end_of_it.time_since_epoch().count());
  deadline_.store(end_of_it.time_since_epoch().count());
  knowers_.store(2);  // the handle and the engine
}

bool LeaseState::renew(core::Time until) {
  const Clock::rep renewed = until.time_since_epoch().count();
  Clock::rep old = deadline_.load();
  do {
    if (old == 0) return false;
  } while (!deadline_.compare_exchange_weak(old, renewed));
  valid_until_.store(renewed);
  return true;
}

bool LeaseState::is_valid() {
  Clock::rep deadline = deadline_.load();
  for (;;) {
    if (deadline == 0) return false;
    if (Clock::now().time_since_epoch().count() < deadline) return true;
    // It has passed: say so for good, unless a renewal has just moved it.
    if (deadline_.compare_exchange_strong(deadline, 0)) {
      end(Errc::expired);
      return false;
    }
  }
}

core::Time LeaseState::valid_until() const {
  return core::Time(Clock::duration(valid_until_));
}

Errc LeaseState::end(Errc why) {
  Errc standing{};
  ended_.compare_exchange_strong(standing, why);
  deadline_.store(0);
  return standing;
}

// A stop_source is made only for a holder that asks. Maker and warner each write their own word
// first and read the other's then, so that one of them at least sees both.
std::stop_token LeaseState::stop_token() {
  std::stop_source* source = stop_.load();
  if (source == nullptr) {
    auto made = std::make_unique<std::stop_source>();
    if (stop_.compare_exchange_strong(source, made.get())) source = made.release();
  }
  if (warned_.load()) source->request_stop();
  return source->get_token();
}

void LeaseState::warn() {
  warned_.store(true);
  if (std::stop_source* source = stop_.load()) source->request_stop();
}

void LeaseState::recycle() {
  runtime.reset();
  others.clear();
  delete stop_.exchange(nullptr);
  on_extended.reset();
  on_released.reset();
}

void LeaseState::Release::run(Driver& driver) {
  driver.release(lease);
}

void LeaseState::Release::dismiss() {
  auto then = std::move(lease.on_released);
  then(lease.runtime->closed_error("release"));
}

void LeaseState::run(Driver& driver) {
  driver.drop(*this);
}

/// The handle's end after the loop's: nothing is left to be released.
void LeaseState::dismiss() {
  if (!let_go()) return;
  recycle();
  delete this;
}

}  // namespace quorumlock::client
