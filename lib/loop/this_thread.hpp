#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

namespace quorumlock::detail {

class Router;

/// The number of a thread of this process. Unlike a std::thread::id it is never used again.
using ThreadNumber = std::uint64_t;

/// The calling thread's number, never zero.
ThreadNumber this_thread_number() noexcept;

/// An object whose leases belong to threads.
class ThreadBound {
 public:
  virtual ~ThreadBound() = default;
  /// Gives up the leases of this thread, which is ending and makes this call.
  virtual void thread_ends(ThreadNumber thread) = 0;
  /// The resource of a mutex; empty for a semaphore.
  [[nodiscard]] virtual std::string_view mutex_of() const = 0;
  /// The router of the coordinator that the leases are of.
  [[nodiscard]] virtual const Router* router_of() const = 0;
};

/// The calling thread has a lease of `holder`, whose thread_ends() is called when the thread ends.
/// Binding the same holder again changes nothing. Once static objects are destroyed, nothing is
/// bound any more. Throws std::system_error if the process has no thread-specific key left.
void bind_to_this_thread(const std::shared_ptr<ThreadBound>& holder);
/// The calling thread has no lease of `holder` any more.
void unbind_from_this_thread(const ThreadBound& holder) noexcept;
/// Whether the calling thread has a lease of the coordinator with this router.
bool this_thread_holds(const Router* of) noexcept;

/// Mutexes with the standard library's interface work with std::lock, which locks one and tries the
/// others. If such a try never waited, it could fail for ever: a contended lock goes straight from
/// one holder to the next, and is never free for a moment. So a try by a thread that has other
/// mutexes waits for a while, if the names of all of them come before this one's in order. In that
/// direction waits can never form a circle.
inline constexpr std::chrono::seconds longest_try{1};
/// The least time that a try of this mutex must wait: zero, unless the rule above applies.
std::chrono::nanoseconds patience_of_this_thread(std::string_view resource);

/// Detects a fork: forked() is true in a child that was forked off after this object was made.
class ForkWatch {
 public:
  ForkWatch();
  [[nodiscard]] bool forked() const noexcept;

 private:
  unsigned long generation_;
};

}  // namespace quorumlock::detail
