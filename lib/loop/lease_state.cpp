#include "loop/lease_state.hpp"

#include <utility>

#include "loop/driver.hpp"
#include "loop/runtime.hpp"

namespace quorumlock::detail {

// This, the user's handle, the claim and its timer are the memory of a lease
// (docs/architecture.md).
static_assert(sizeof(LeaseState) <= 144);

LeaseState::~LeaseState() {
  delete stop_.load();
  delete token_.load();
  delete rare_.load();
}

void LeaseState::begin(std::shared_ptr<Runtime> of, core::ClaimId id, const core::Claim& its,
                       std::size_t resource_size, std::vector<std::string> others, int tries) {
  runtime = std::move(of);
  names = its.names;
  resource_size_ = static_cast<std::uint32_t>(resource_size);
  if (!others.empty()) rare().others = std::move(others);
  won = {
      .fence = its.fencing.number, .votes = core::PackedVotes(its.round.tally), .attempts = tries};
  claim = id;
  detached = false;
  // Relaxed: no other thread knows this state yet, and passing the handle to another thread orders
  // these stores.
  ended_.store(Errc(), std::memory_order_relaxed);
  warned_.store(false, std::memory_order_relaxed);
  valid_until_.store(its.deadline.time_since_epoch().count(), std::memory_order_relaxed);
  deadline_.store(its.deadline.time_since_epoch().count(), std::memory_order_relaxed);
  knowers_.store(2, std::memory_order_relaxed);  // the handle and the engine
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
    // The deadline has passed: end the lease for good, unless a renewal has just moved it.
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
  Errc standing = ended();
  if (standing == Errc()) ended_.compare_exchange_strong(standing, why);
  deadline_.store(0, std::memory_order_release);  // a reader that sees zero sees the reason
  return standing;
}

// A stop_source is made only for a holder that asks. stop_token() and warn() each first write their
// own word and then read the other's, so that at least one of them sees both.
std::stop_token LeaseState::stop_token() {
  std::stop_source* source = stop_.load();
  if (source == nullptr) {
    auto made = std::make_unique<std::stop_source>();
    if (stop_.compare_exchange_strong(source, made.get())) source = made.release();
  }
  if (warned_.load()) source->request_stop();
  return source->get_token();
}

const OwnerToken& LeaseState::owner_token() {
  const OwnerToken* token = token_.load();
  if (token == nullptr) {
    auto made = std::make_unique<const OwnerToken>(std::string(names.token()));
    if (token_.compare_exchange_strong(token, made.get())) token = made.release();
  }
  return *token;
}

void LeaseState::warn() {
  if (warned_.load(std::memory_order_relaxed)) return;  // only the loop calls warn()
  warned_.store(true);
  if (std::stop_source* source = stop_.load()) source->request_stop();
}

void LeaseState::recycle() {
  runtime.reset();
  names = core::KeyAndToken();
  delete stop_.load(std::memory_order_relaxed);
  stop_.store(nullptr, std::memory_order_relaxed);
  delete token_.load(std::memory_order_relaxed);
  token_.store(nullptr, std::memory_order_relaxed);
  if (release_ != nullptr) release_->handler.reset();
  if (Rare* rare = rare_.load()) {
    rare->others.clear();
    rare->trace = {};
    rare->asked.handler.reset();
  }
}

LeaseState::Rare& LeaseState::rare() {
  if (rare_.load(std::memory_order_relaxed) == nullptr) {
    rare_.store(new Rare, std::memory_order_release);
  }
  return *rare_.load(std::memory_order_relaxed);
}

const std::vector<std::string>& LeaseState::others() const {
  static const std::vector<std::string> none;
  const Rare* rare = rare_.load(std::memory_order_acquire);
  return rare == nullptr ? none : rare->others;
}

const std::vector<TraceStep>& LeaseState::trace() const {
  static const std::vector<TraceStep> none;
  const Rare* rare = rare_.load(std::memory_order_acquire);
  return rare == nullptr ? none : rare->trace;
}

LeaseState::Release& LeaseState::release_task() {
  if (release_ == nullptr) release_ = std::make_unique<Release>(*this);
  return *release_;
}

detail::Handler<Result<void>> LeaseState::take_on_released() {
  return release_ == nullptr ? detail::Handler<Result<void>>() : std::move(release_->handler);
}

void LeaseState::Release::run(Driver& driver) {
  driver.calls().release(lease);
}

void LeaseState::Release::dismiss() {
  auto then = std::move(handler);
  then(lease.runtime->closed_error("release"));
}

void LeaseState::run(Driver& driver) {
  driver.calls().drop(*this);
}

/// The handle has ended after the loop, so nothing is left to be released.
void LeaseState::dismiss() {
  if (!let_go()) return;
  recycle();
  delete this;
}

}  // namespace quorumlock::detail
