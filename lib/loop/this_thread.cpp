#include "loop/this_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

namespace quorumlock::detail {
namespace {

std::atomic<ThreadNumber> last_number{0};

// These two have no destructor: the destructors of other thread_locals and, on the main thread, of
// static objects may lock and unlock after the end of the thread_local below.
constinit thread_local ThreadNumber own_number = 0;
constinit thread_local bool ended = false;

class Bound {
 public:
  ~Bound() {
    ended = true;
    for (const One& one : std::exchange(all_, {})) {
      const std::shared_ptr<ThreadBound> holder = one.holder.lock();
      if (holder == nullptr) continue;
      try {
        holder->thread_ends(own_number);
      } catch (...) {  // out of memory: the remaining leases expire by themselves
      }
    }
  }
  Bound() = default;
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  void add(const std::shared_ptr<ThreadBound>& holder) {
    if (const auto found = find(*holder); found != all_.end()) {
      found->holder = holder;  // it may be a new holder at the address of one that is gone
      return;
    }
    if (all_.size() >= purged_at_) {
      std::erase_if(all_, [](const One& one) { return one.holder.expired(); });
      purged_at_ = std::max<std::size_t>(2 * all_.size(), 16);
    }
    all_.push_back({holder.get(), holder});
  }
  /// Whether the thread has mutexes and the names of all of them come before this one.
  [[nodiscard]] bool has_only_before(std::string_view resource) const {
    bool has = false;
    for (const One& one : all_) {
      const std::shared_ptr<ThreadBound> holder = one.holder.lock();
      if (holder == nullptr || holder->mutex_of().empty()) continue;
      if (holder->mutex_of() >= resource) return false;
      has = true;
    }
    return has;
  }
  void remove(const ThreadBound& holder) {
    if (const auto found = find(holder); found != all_.end()) all_.erase(found);
  }

 private:
  struct One {
    const ThreadBound* address;
    std::weak_ptr<ThreadBound> holder;
  };
  std::vector<One>::iterator find(const ThreadBound& holder) {
    // The mutex that was locked last is usually unlocked first.
    const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                    [&](const One& one) { return one.address == &holder; });
    return found == all_.rend() ? all_.end() : std::prev(found.base());
  }

  std::vector<One> all_;
  std::size_t purged_at_ = 16;
};

Bound& bound() {
  static thread_local Bound all;
  return all;
}

/// The number of forks between the first process and this one.
std::atomic<unsigned long> forks{0};

unsigned long count_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

ThreadNumber this_thread_number() noexcept {
  if (own_number == 0) own_number = last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  return own_number;
}

void bind_to_this_thread(const std::shared_ptr<ThreadBound>& holder) {
  if (!ended) bound().add(holder);
}

void unbind_from_this_thread(const ThreadBound& holder) noexcept {
  if (!ended) bound().remove(holder);
}

std::chrono::nanoseconds patience_of_this_thread(std::string_view resource) {
  if (ended || !bound().has_only_before(resource)) return std::chrono::nanoseconds::zero();
  return longest_try;
}

ForkWatch::ForkWatch() : generation_(count_forks()) {}

bool ForkWatch::forked() const noexcept {
  return forks.load(std::memory_order_relaxed) != generation_;
}

}  // namespace quorumlock::detail
