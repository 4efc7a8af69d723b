#pragma once

/// The asynchronous operations for Asio: free functions that take a completion token. This header
/// is optional and not part of <quorumlock/quorumlock.hpp>. It uses standalone Asio (1.22 or later)
/// if ASIO_STANDALONE is defined, and Boost.Asio (Boost 1.78 or later) otherwise.
///
///     Lease lease =
///         co_await async_acquire(coordinator, "orders:42", {.wait = 10s}, use_awaitable);
///
/// Completion. An operation with a value has the signature void(error_code, T), one without a value
/// void(error_code), so use_awaitable and use_future throw system_error. The code is one of Errc,
/// or operation_aborted if the operation was cancelled. as_result(token), and a handler that takes
/// a Result<T>, get the library's Result instead: nothing is thrown for a refusal, and its Error
/// has the sentence and the votes.
///
/// Executor. The handler runs on its associated executor, never within the call, and the executor
/// has outstanding work until then. A handler without an executor runs on Asio's system_executor: a
/// thread that Asio makes. The coordinator's own thread never runs a handler.
///
/// Cancellation. A terminal, partial or total cancellation takes an acquisition back: no lock is
/// left. Calls that change something on the nodes (extend, release, ...) accept terminal and
/// partial cancellation, which completes the handler while the call itself goes on.
///
/// Lifetime. If the execution context is destroyed, or stopped for good and then destroyed,
/// handlers of operations under way are destroyed without a call, acquisitions are cancelled, and a
/// lease that a handler would have received is released. Objects that are passed by reference must
/// live until the operation has completed.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <quorumlock/detail/asio_operation.hpp>
#include <quorumlock/quorumlock.hpp>

namespace quorumlock {

inline namespace QUORUMLOCK_ASIO_FLAVOUR {

/// A completion token that gives the library's Result. See as_result().
template <class Token>
struct AsResult {
  Token token;  ///< the token that gets the Result
};

/// Makes an operation complete with a Result<T> instead of an error code and a value. as_result()
/// goes outermost: as_result(bind_executor(strand, use_future)).
///
///     Result<Lease> lease = co_await async_acquire(coordinator, "a", as_result(use_awaitable));
template <class Token>
AsResult<std::decay_t<Token>> as_result(Token&& token) {
  return {std::forward<Token>(token)};
}

}  // namespace QUORUMLOCK_ASIO_FLAVOUR

namespace detail {

inline namespace QUORUMLOCK_ASIO_FLAVOUR {

template <class T>
struct Completing {
  using Signature = void(ErrorCode, T);
  template <class Token>
  static constexpr bool takes_code = std::is_invocable_v<Token, ErrorCode, T>;
};
template <>
struct Completing<void> {
  using Signature = void(ErrorCode);
  template <class Token>
  static constexpr bool takes_code = std::is_invocable_v<Token, ErrorCode>;
};

/// Whether a token is a handler that takes a Result and no error code. Tokens such as use_future
/// can be called with anything, too, but that call returns a value.
template <class Token, class T>
constexpr bool takes_result() {
  if constexpr (Completing<T>::template takes_code<Token>) {
    return false;
  } else if constexpr (std::is_invocable_v<Token, Result<T>>) {
    return std::is_void_v<std::invoke_result_t<Token, Result<T>>>;
  } else {
    return false;
  }
}

template <class Token>
struct InnerToken {
  static constexpr bool is_wrapped = false;
};
template <class Token>
struct InnerToken<AsResult<Token>> {
  static constexpr bool is_wrapped = true;
  using type = Token;
};

template <class T, OnCancel on_cancel, class Token, class Make>
auto initiate(Token&& token, Make make) {
  // A copy, since not every token of Asio 1.22 may be const.
  std::decay_t<Token> own(std::forward<Token>(token));
  using Own = std::decay_t<Token>;
  if constexpr (InnerToken<Own>::is_wrapped) {
    return net::async_initiate<typename InnerToken<Own>::type, void(Result<T>)>(
        Initiation<T, true, on_cancel, Make>{std::move(make)}, own.token);
  } else if constexpr (takes_result<Own, T>()) {
    return net::async_initiate<Own, void(Result<T>)>(
        Initiation<T, true, on_cancel, Make>{std::move(make)}, own);
  } else {
    return net::async_initiate<Own, typename Completing<T>::Signature>(
        Initiation<T, false, on_cancel, Make>{std::move(make)}, own);
  }
}

}  // namespace QUORUMLOCK_ASIO_FLAVOUR

}  // namespace detail

inline namespace QUORUMLOCK_ASIO_FLAVOUR {

/// Coordinator::async_acquire(): void(error_code, Lease).
template <class Token>
auto async_acquire(Coordinator& coordinator, std::string resource, LockOptions options,
                   Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(
      std::forward<Token>(token), [&coordinator, resource = std::move(resource), options] {
        return coordinator.co_acquire(resource, options);
      });
}
template <class Token>
auto async_acquire(Coordinator& coordinator, std::string resource, Token&& token) {
  return async_acquire(coordinator, std::move(resource), LockOptions(), std::forward<Token>(token));
}
/// Coordinator::async_acquire_all(), of a vector or {"a", "b"}: void(error_code, Lease).
template <class Token>
auto async_acquire_all(Coordinator& coordinator, Resources resources, LockOptions options,
                       Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(
      std::forward<Token>(token), [&coordinator, resources = std::move(resources), options] {
        return coordinator.co_acquire_all(resources, options);
      });
}
template <class Token>
auto async_acquire_all(Coordinator& coordinator, Resources resources, Token&& token) {
  return async_acquire_all(coordinator, std::move(resources), LockOptions(),
                           std::forward<Token>(token));
}
/// Coordinator::async_acquire_permit(): void(error_code, Lease).
template <class Token>
auto async_acquire_permit(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
                          LockOptions options, Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(
      std::forward<Token>(token),
      [&coordinator, resource = std::move(resource), capacity, options] {
        return coordinator.co_acquire_permit(resource, capacity, options);
      });
}
template <class Token>
auto async_acquire_permit(Coordinator& coordinator, std::string resource, std::ptrdiff_t capacity,
                          Token&& token) {
  return async_acquire_permit(coordinator, std::move(resource), capacity, LockOptions(),
                              std::forward<Token>(token));
}

/// Coordinator::async_status(): void(error_code, ClusterStatus).
template <class Token>
auto async_status(Coordinator& coordinator, Token&& token) {
  return detail::initiate<ClusterStatus, detail::OnCancel::stop_look>(
      std::forward<Token>(token), [&coordinator] { return coordinator.co_status(); });
}

/// Coordinator::co_inspect(): void(error_code, Inspection).
template <class Token>
auto async_inspect(Coordinator& coordinator, std::string resource, Token&& token) {
  return detail::initiate<Inspection, detail::OnCancel::stop_look>(
      std::forward<Token>(token),
      [&coordinator, resource = std::move(resource)] { return coordinator.co_inspect(resource); });
}

/// Coordinator::co_extend(), by owner token: void(error_code, Clock::time_point).
template <class Token>
auto async_extend(Coordinator& coordinator, Resources resources, OwnerToken owner,
                  std::chrono::nanoseconds ttl, Token&& token) {
  return detail::initiate<Clock::time_point, detail::OnCancel::stop_call>(
      std::forward<Token>(token),
      [&coordinator, resources = std::move(resources), owner = std::move(owner), ttl] {
        return coordinator.co_extend(resources, owner, ttl);
      });
}
/// Coordinator::co_release(), by owner token: void(error_code).
template <class Token>
auto async_release(Coordinator& coordinator, Resources resources, OwnerToken owner, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token),
      [&coordinator, resources = std::move(resources), owner = std::move(owner)] {
        return coordinator.co_release(resources, owner);
      });
}

/// Coordinator::async_close(): void(error_code). Operations under way complete with Errc::closed.
template <class Token>
auto async_close(Coordinator& coordinator, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&coordinator] {
        return detail::awaitable_of<Result<void>>([&coordinator](auto handler) {
          coordinator.async_close([handler = std::move(handler)]() mutable { handler({}); });
        });
      });
}

/// Lease::async_extend(): void(error_code).
template <class Token>
auto async_extend(Lease& lease, std::chrono::nanoseconds ttl, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&lease, ttl] { return lease.co_extend(ttl); });
}
/// Lease::async_release(): void(error_code). The lease ends at once, before the nodes answer.
template <class Token>
auto async_release(Lease& lease, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&lease] { return lease.co_release(); });
}
/// Lease::async_downgrade(): void(error_code).
template <class Token>
auto async_downgrade(Lease& lease, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&lease] { return lease.co_downgrade(); });
}

/// Waits as lock() does, for a lock that belongs to the Lease and to no thread:
/// void(error_code, Lease).
template <class Token>
auto async_lock(Mutex& mutex, Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(std::forward<Token>(token),
                                                         [&mutex] { return mutex.co_lock(); });
}
template <class Token>
auto async_lock(SharedMutex& mutex, Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(std::forward<Token>(token),
                                                         [&mutex] { return mutex.co_lock(); });
}
template <class Token>
auto async_lock_shared(SharedMutex& mutex, Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(
      std::forward<Token>(token), [&mutex] { return mutex.co_lock_shared(); });
}
/// Waits for a permit that belongs to the Lease and to no thread: void(error_code, Lease).
template <class Token>
auto async_acquire(Semaphore& semaphore, Token&& token) {
  return detail::initiate<Lease, detail::OnCancel::stop>(
      std::forward<Token>(token), [&semaphore] { return semaphore.co_acquire(); });
}
template <class Token>
auto async_lock(Semaphore& semaphore, Token&& token) {
  return async_acquire(semaphore, std::forward<Token>(token));
}
/// Release what the thread that begins the operation holds by lock() or acquire():
/// void(error_code). A coroutine begins it where it awaits it. What async_lock() gave is a Lease,
/// which async_release() releases.
template <class Token>
auto async_unlock(Mutex& mutex, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&mutex] { return mutex.co_unlock(); });
}
template <class Token>
auto async_unlock(SharedMutex& mutex, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&mutex] { return mutex.co_unlock(); });
}
template <class Token>
auto async_unlock_shared(SharedMutex& mutex, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&mutex] { return mutex.co_unlock_shared(); });
}
template <class Token>
auto async_release(Semaphore& semaphore, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&semaphore] { return semaphore.co_release(); });
}
template <class Token>
auto async_unlock(Semaphore& semaphore, Token&& token) {
  return async_release(semaphore, std::forward<Token>(token));
}
/// RecursiveMutex::async_lock() and async_unlock(): void(error_code). A lock whose result reaches
/// no handler is undone.
template <class Token>
auto async_lock(RecursiveMutex& mutex, LockOwner owner, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop>(
      std::forward<Token>(token), [&mutex, owner] { return mutex.co_lock(owner); });
}
template <class Token>
auto async_unlock(RecursiveMutex& mutex, LockOwner owner, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&mutex, owner] { return mutex.co_unlock(owner); });
}

/// Election::async_campaign(): void(error_code, Leadership).
template <class Token>
auto async_campaign(Election& election, std::string value, Token&& token) {
  return detail::initiate<Leadership, detail::OnCancel::stop>(
      std::forward<Token>(token),
      [&election, value = std::move(value)] { return election.co_campaign(value); });
}
/// Election::async_leader(): void(error_code, std::optional<Leader>).
template <class Token>
auto async_leader(Election& election, Token&& token) {
  using Found = std::optional<Leader>;
  return detail::initiate<Found, detail::OnCancel::stop_look>(
      std::forward<Token>(token), [&election] { return election.co_leader(); });
}
/// Leadership::async_proclaim(): void(error_code).
template <class Token>
auto async_proclaim(Leadership& leadership, std::string value, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token),
      [&leadership, value = std::move(value)] { return leadership.co_proclaim(value); });
}
/// Leadership::async_resign(): void(error_code).
template <class Token>
auto async_resign(Leadership& leadership, Token&& token) {
  return detail::initiate<void, detail::OnCancel::stop_call>(
      std::forward<Token>(token), [&leadership] { return leadership.co_resign(); });
}

}  // namespace QUORUMLOCK_ASIO_FLAVOUR

}  // namespace quorumlock
