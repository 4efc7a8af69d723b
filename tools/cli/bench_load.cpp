#include "bench_load.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace quorumlock::cli {
namespace {

std::uint32_t nanoseconds_between(Clock::time_point begin, Clock::time_point end) {
  constexpr Clock::rep most = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::clamp<Clock::rep>((end - begin).count(), 0, most));
}

}  // namespace

BenchLoad::BenchLoad(Coordinator& coordinator, const std::vector<std::string>& keys, int in_flight,
                     std::chrono::nanoseconds ttl)
    : coordinator_(coordinator),
      keys_(keys),
      waits_(keys.size() < static_cast<std::size_t>(in_flight)),
      slots_(static_cast<std::size_t>(in_flight)) {
  options_.ttl = ttl;
  options_.wait = waits_ ? forever : std::chrono::nanoseconds::zero();
}

void BenchLoad::start() {
  // The first key is locked once more, so that a handler on the loop begins all the slots.
  coordinator_.async_acquire(keys_.front(), {.ttl = options_.ttl}, {}, [this](Result<Lease> lease) {
    if (!lease) return acquired(0, std::move(lease));
    slots_[0].lease = std::move(*lease);
    slots_[0].lease.async_release([this](const Result<void>&) {
      const std::lock_guard<std::mutex> lock(guard_);
      slots_[0].lease = Lease();
      first_ = last_ = Clock::now();
      busy_ = slots_.size();
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].key = i % keys_.size();
        begin(i);
      }
    });
  });
}

void BenchLoad::stop() {
  stopping_.request_stop();
}

std::vector<std::string> BenchLoad::used() const {
  return {keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(used_)};
}

double BenchLoad::seconds() const {
  return std::chrono::duration<double>(last_ - first_).count();
}

void BenchLoad::begin(std::size_t which) {
  if (stopping_.stop_requested()) return end();
  Slot& slot = slots_[which];
  slot.began = Clock::now();
  used_ = std::max(used_, slot.key + 1);
  coordinator_.async_acquire(
      keys_[slot.key], options_, waits_ ? stopping_.get_token() : std::stop_token(),
      [this, which](Result<Lease> lease) { acquired(which, std::move(lease)); });
  if (waits_) return;
  // No other slot uses these keys, however much faster it is.
  slot.key += slots_.size();
  if (slot.key >= keys_.size()) slot.key = which;
}

void BenchLoad::acquired(std::size_t which, Result<Lease> lease) {
  const std::lock_guard<std::mutex> lock(guard_);
  Slot& slot = slots_[which];
  const Clock::time_point now = Clock::now();
  if (!lease) {
    if (lease.error().code() != Errc::cancelled && !refused_) refused_ = lease.error();
    stop();
    return end();
  }
  acquire_ns_.push_back(nanoseconds_between(slot.began, now));
  slot.began = now;
  slot.lease = std::move(*lease);
  slot.lease.async_release([this, which](const Result<void>& result) { released(which, result); });
}

void BenchLoad::released(std::size_t which, const Result<void>& result) {
  const std::lock_guard<std::mutex> lock(guard_);
  Slot& slot = slots_[which];
  slot.lease = Lease();
  last_ = Clock::now();
  if (!result) {
    if (!refused_) refused_ = result.error();
    stop();
    return end();
  }
  release_ns_.push_back(nanoseconds_between(slot.began, last_));
  ++cycles_;
  begin(which);
}

void BenchLoad::end() {
  if (busy_ > 0) --busy_;
  if (busy_ == 0) done_.set();
}

}  // namespace quorumlock::cli
