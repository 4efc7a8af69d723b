#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <coroutine>
#include <thread>
#include <utility>
#include <vector>

#include "integration/fixture.hpp"
#include "support/detached.hpp"
#include "support/process.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::test {
namespace {

/// Side effects that the library must not have on its host process.
class ProcessHost : public FiveNodes {
 protected:
  /// Runs `checks` in a forked child; the bits of the result show which of them failed.
  template <class Checks>
  static int failed_in_child(Checks&& checks) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(checks());
    int status = 0;
    if (!eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; })) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  }
  template <class Call>
  static bool throws_closed(Call&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == Errc::closed;
    }
    return false;
  }
  template <class T>
  static bool closed(const Result<T>& result) {
    return !result && result.error().code() == Errc::closed;
  }
};

TEST_F(ProcessHost, HandlesInAForkedChildAreClosed) {
  // The child's copies of coordinator and lease do nothing, report closed, and can be destroyed;
  // the parent's are not affected.
  auto coordinator = std::make_unique<Coordinator>(connect());
  auto lease = std::make_unique<Lease>(coordinator->acquire(key).value());
  auto mutex = std::make_unique<Mutex>(*coordinator, key + "/mutex");
  mutex->lock();
  const int failed = failed_in_child([&] {
    int bits = 0;
    if (lease->is_valid() || lease->remaining() > 0s) bits |= 1;
    if (!closed(lease->extend(10s))) bits |= 2;
    if (!closed(lease->release())) bits |= 4;
    if (!closed(coordinator->acquire(key + "/child", {.wait = forever}))) bits |= 8;
    if (!closed(coordinator->inspect(key))) bits |= 16;
    if (!lease->stop_token().stop_requested()) bits |= 32;
    lease->detach();
    coordinator->close();
    if (!throws_closed([&] { (void)mutex->try_lock(); })) bits |= 64;
    if (!throws_closed([&] { (void)mutex->lease(); })) bits |= 128;
    mutex->unlock();
    mutex.reset();
    lease.reset();
    coordinator.reset();
    return bits;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(lease->is_valid());
  EXPECT_TRUE(ok(lease->extend(10s)));
  EXPECT_TRUE(mutex->lease().is_valid());
  mutex->unlock();
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(ok(coordinator->acquire(key, {.wait = 20s})));
}

TEST_F(ProcessHost, CallsWithAHandlerThrowInAForkedChild) {
  // No such call ever runs its handler; a coroutine gets closed.
  auto coordinator = std::make_unique<Coordinator>(connect());
  Lease lease = coordinator->acquire(key).value();
  RecursiveMutex recursive(*coordinator, key + "/recursive");
  Semaphore semaphore(*coordinator, key + "/semaphore", 2);
  Election election(*coordinator, key + "/election");
  Leadership leadership = election.campaign("me").value();
  recursive.lock();
  const int failed = failed_in_child([&] {
    int bits = 0;
    bool called = false;
    const auto handler = [&](const auto&) { called = true; };
    const std::vector<std::function<void()>> calls = {
        [&] { coordinator->async_acquire(key, handler); },
        [&] {
          coordinator->async_acquire_all({key, key + "/2"}, {}, {}, handler);
        },
        [&] { coordinator->async_status(handler); },
        [&] { coordinator->async_close([&] { called = true; }); },
        [&] { lease.async_extend(10s, handler); },
        [&] { lease.async_downgrade(handler); },
        [&] { lease.async_release(handler); },
        [&] { recursive.async_lock(LockOwner(), {}, handler); },
        [&] { recursive.async_unlock(LockOwner(), handler); },
        [&] { semaphore.async_acquire(handler); },
        [&] { election.async_campaign("me", {}, handler); },
        [&] { election.async_leader(handler); },
        [&] { leadership.async_proclaim("me", handler); },
        [&] { leadership.async_resign(handler); },
    };
    for (const auto& call : calls) {
      if (!throws_closed(call)) bits |= 1;
    }
    if (called) bits |= 2;
    if (recursive.depth() != 0 || !throws_closed([&] { recursive.lock(); })) bits |= 4;
    recursive.unlock();
    if (!throws_closed([&] { semaphore.acquire(); })) bits |= 8;
    semaphore.release();
    bool awaited = false;
    [](Coordinator& of, bool& told) -> Detached {
      const Result<Lease> refused = co_await of.co_acquire("orders", {.wait = forever});
      told = closed(refused);
      co_await of.co_close();
    }(*coordinator, awaited);
    if (!awaited) bits |= 16;
    coordinator.reset();
    return bits;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(recursive.lease().is_valid());
  recursive.unlock();
}

// Not under AddressSanitizer: its allocator has locks, which a child inherits locked if
// another thread allocates at the fork (libsanitizer of GCC 12, SizeClassAllocator64).
#ifndef __SANITIZE_ADDRESS__
TEST_F(ProcessHost, AChildDoesNotWaitForAThreadThatTheForkLost) {
  // Threads lock and unlock all the time, so that some fork happens while one has a mutex locked.
  Coordinator coordinator = connect();
  Mutex mutex(coordinator, key);
  Semaphore semaphore(coordinator, key + "/semaphore", 2);
  RecursiveMutex recursive(coordinator, key + "/recursive");
  std::atomic<bool> done{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!done) {  // the thread holds none of these locks
        mutex.unlock();
        semaphore.release();
        (void)recursive.depth();
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const int failed = failed_in_child([&] {
      int bits = 0;
      if (!throws_closed([&] { mutex.lock(); })) bits |= 1;
      if (!throws_closed([&] { semaphore.acquire(); })) bits |= 2;
      if (!throws_closed([&] { recursive.lock(); })) bits |= 4;
      mutex.unlock();
      semaphore.release();
      recursive.unlock();
      return bits;
    });
    EXPECT_EQ(failed, 0);
  }
  done = true;
  for (std::thread& thread : busy) thread.join();
}
#endif

TEST_F(ProcessHost, AnAttachedCoordinatorInAForkedChildIsClosed) {
  // The coordinator is attached to the host's loop, which the child may close.
  UvLoop loop;
  Coordinator coordinator = Coordinator::attach(loop.get(), options()).value();
  Lease lease;
  coordinator.async_acquire(key, {}, {}, [&](Result<Lease> result) {
    if (result) lease = std::move(*result);
  });
  loop.run_until([&] { return lease.is_valid(); });
  const int failed = failed_in_child([&] {
    int bits = 0;
    if (lease.is_valid()) bits |= 1;
    if (!closed(coordinator.acquire(key))) bits |= 2;
    if (!closed(lease.release())) bits |= 4;
    { const Lease dropped = std::move(lease); }
    { const Coordinator dropped = std::move(coordinator); }
    return bits;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(lease.is_valid());
  lease = Lease();
  coordinator.close();
  loop.run();
  EXPECT_EQ(loop.close(), 0);
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer supports no threads after a fork
TEST_F(ProcessHost, AForkedChildMayMakeItsOwnCoordinator) {
  // A coordinator that was made after the fork works in the child.
  Coordinator coordinator = connect();
  const Lease lease = coordinator.acquire(key).value();
  const int failed = failed_in_child([&] {
    Result<Coordinator> own = Coordinator::create(options());
    if (!own) return 1;
    const Result<Lease> refused = own->acquire(key);
    if (refused || refused.error().code() != Errc::contended) return 2;
    Result<Lease> other = own->acquire(key + "/child");
    if (!other || !other->release()) return 4;
    own->close();
    return 0;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(lease.is_valid());
}
#endif

TEST_F(ProcessHost, SignalDispositionsStayAsTheyWere) {
  // After creating, attaching, using and closing a coordinator all signal dispositions and this
  // thread's mask are as before.
  const auto dispositions = [] {
    std::vector<std::pair<void (*)(int), int>> all;
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action {};
      ::sigaction(signal, nullptr, &action);
      all.emplace_back(action.sa_handler, action.sa_flags);
    }
    return all;
  };
  const auto blocked = [] {
    sigset_t mask;
    sigemptyset(&mask);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    std::vector<bool> signals;
    for (int signal = 1; signal < NSIG; ++signal) {
      signals.push_back(sigismember(&mask, signal) == 1);
    }
    return signals;
  };
  const auto before = dispositions();
  const auto mask = blocked();
  {
    Coordinator coordinator = connect();
    UvLoop loop;
    Coordinator attached = Coordinator::attach(loop.get(), options()).value();
    EXPECT_TRUE(ok(coordinator.acquire(key)));
    attached.async_acquire(key + "/attached", {}, {}, [](const Result<Lease>&) {});
    loop.run();
    EXPECT_TRUE(dispositions() == before);
    EXPECT_TRUE(blocked() == mask);
    attached.close();
    loop.run();
    EXPECT_EQ(loop.close(), 0);
  }
  EXPECT_TRUE(dispositions() == before);
  EXPECT_TRUE(blocked() == mask);
}

TEST_F(ProcessHost, SignalsAreDeliveredToTheHostsThreads) {
  // The loop's thread blocks all signals: one sent to the process is left to the host's threads.
  Coordinator coordinator = connect();
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &one, nullptr);
  ::kill(::getpid(), SIGUSR1);  // fatal in any thread that does not block it
  EXPECT_TRUE(ok(coordinator.acquire(key)));
  int taken = 0;
  ::sigwait(&one, &taken);
  EXPECT_EQ(taken, SIGUSR1);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

TEST_F(ProcessHost, DescriptorsDoNotReachItsPrograms) {
  // A program that the host runs inherits none of the library's descriptors.
  const auto inherited = [] {
    Process program({"/bin/sh", "-c", "echo /proc/self/fd/*"});
    return program.line();
  };
  const std::string before = inherited();
  Coordinator coordinator = connect();
  const Result<Lease> lease = coordinator.acquire(key);
  EXPECT_TRUE(ok(lease));
  EXPECT_EQ(inherited(), before);
}

/// Processes with the default disposition of SIGPIPE, which would end them.
class ProcessSigpipe : public FiveNodes {
 protected:
  Process worker(const std::string& command) const {
    std::string urls;
    for (const std::string& url : cluster().urls()) urls += (urls.empty() ? "" : ",") + url;
    return Process({QUORUMLOCK_TEST_WORKER, command, urls, key});
  }
};

TEST_F(ProcessSigpipe, IsNotRaisedByWritingToADeadNode) {
  // All servers die while the loop is busy; the loop then writes to them before it reads.
  Process host = worker("broken");
  EXPECT_EQ(host.line(), "busy");
  for (int node = 0; node < 5; ++node) cluster().kill(node);
  host.say("");
  EXPECT_EQ(host.line(), "refused");
  EXPECT_EQ(host.wait(), 0);
}

TEST_F(ProcessSigpipe, IsNotRaisedInTheMiddleOfTraffic) {
  // A process locks and unlocks without a pause while servers are killed and connections dropped.
  Process host = worker("cycle");
  EXPECT_EQ(host.line(), "cycling");
  for (int i = 0; i < 10; ++i) {
    cluster().kill(i % 5);
    cluster().restart(i % 5);
    for (int node = 0; node < 5; ++node) cluster().drop_clients(node);
  }
  for (int node = 0; node < 5; ++node) cluster().kill(node);
  for (int node = 0; node < 5; ++node) cluster().restart(node);
  host.hush();
  EXPECT_TRUE(host.line().starts_with("locked "));
  EXPECT_EQ(host.wait(), 0);
}

}  // namespace
}  // namespace quorumlock::test
