#include "loop/this_thread.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

namespace quorumlock::detail {
namespace {

std::atomic<ThreadNumber> last_number{0};

// No thread_local of the library may have a destructor: dlclose() would not unload the library
// before each thread that has used it has ended, and the main thread ends with the process.
constinit thread_local ThreadNumber own_number = 0;

/// The locks of one thread.
class Bound {
 public:
  ~Bound() {
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
  [[nodiscard]] bool has_of(const Router* router) const {
    return std::any_of(all_.begin(), all_.end(), [&](const One& one) {
      const std::shared_ptr<ThreadBound> holder = one.holder.lock();
      return holder != nullptr && holder->router_of() == router;
    });
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

/// Whether key_of_bound exists. It does from the first lock until static destruction or dlclose().
constinit std::atomic<bool> usable{false};
pthread_key_t key_of_bound;  // valid while `usable`

/// Owns the key under which each thread has its Bound. A thread that ends deletes its Bound. If a
/// later destructor of the thread locks again, it makes a new Bound, which is deleted after that
/// destructor.
class Key {
 public:
  Key() {
    const int error =
        pthread_key_create(&key_of_bound, [](void* bound) { delete static_cast<Bound*>(bound); });
    if (error != 0) {
      throw std::system_error(error, std::generic_category(),
                              "cannot keep what a thread has locked, since the process has the "
                              "most thread-specific keys that it may have");
    }
    usable = true;
  }
  /// Deletes the calling thread's Bound. Threads that still run keep the memory of their Bound:
  /// they may be using it, and their locks belong to the mutexes.
  ~Key() {
    usable = false;
    void* const mine = pthread_getspecific(key_of_bound);
    pthread_setspecific(key_of_bound, nullptr);
    delete static_cast<Bound*>(mine);
    pthread_key_delete(key_of_bound);
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
};

/// The calling thread's Bound, or null if it has none.
Bound* bound() {
  return usable ? static_cast<Bound*>(pthread_getspecific(key_of_bound)) : nullptr;
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
  static const Key key;
  if (!usable) return;
  if (Bound* const mine = bound()) return mine->add(holder);
  auto made = std::make_unique<Bound>();
  made->add(holder);
  if (pthread_setspecific(key_of_bound, made.get()) == 0) {
    (void)made.release();
  } else if (usable) {
    throw std::bad_alloc();
  }
}

void unbind_from_this_thread(const ThreadBound& holder) noexcept {
  if (Bound* const mine = bound()) mine->remove(holder);
}

bool this_thread_holds(const Router* of) noexcept {
  const Bound* const mine = bound();
  return mine != nullptr && mine->has_of(of);
}

std::chrono::nanoseconds patience_of_this_thread(std::string_view resource) {
  const Bound* const mine = bound();
  if (mine == nullptr || !mine->has_only_before(resource)) return std::chrono::nanoseconds::zero();
  return longest_try;
}

ForkWatch::ForkWatch() : generation_(count_forks()) {}

bool ForkWatch::forked() const noexcept {
  return forks.load(std::memory_order_relaxed) != generation_;
}

}  // namespace quorumlock::detail
