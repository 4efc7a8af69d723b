#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <quorumlock/awaitable.hpp>
#include <quorumlock/clock.hpp>
#include <quorumlock/detail/export.hpp>
#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

class Lease;
namespace detail {
class LeaseState;
void release_with_thread(Lease lease);
}  // namespace detail

/// The owner token of a lock: the value under its key on the nodes. It converts to a string, and
/// is made from one explicitly, so that it cannot be mistaken for a resource.
class OwnerToken {
 public:
  /// No token.
  OwnerToken() = default;
  /// A token as Lease::owner_token() returned it, perhaps in another process.
  explicit OwnerToken(std::string text) : text_(std::move(text)) {}
  /// The whole token.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  operator const std::string&() const noexcept { return text_; }  // NOLINT: implicit
  /// Whether there is no token.
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  /// The holder's label (Options::label). Empty if the token has none, or is another library's.
  [[nodiscard]] QUORUMLOCK_EXPORT std::string_view label() const noexcept;
  bool operator==(const OwnerToken&) const = default;
  auto operator<=>(const OwnerToken&) const = default;
  friend bool operator==(const OwnerToken& one, std::string_view other) noexcept {
    return one.text_ == other;
  }
  friend std::ostream& operator<<(std::ostream& out, const OwnerToken& token) {
    return out << token.text_;
  }

 private:
  std::string text_;
};

/// A lock that is held until valid_until().
///
/// Move-only. resource(), is_valid(), remaining(), valid_until(), owner_token() and stop_token()
/// may be called from any thread at any time; extending, releasing, detaching, moving and
/// destroying must not overlap in two threads. A default-constructed or moved-from Lease holds
/// nothing: it is not valid, and extending or releasing it is Errc::not_held.
class QUORUMLOCK_EXPORT Lease {
 public:
  Lease() noexcept = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  /// Releases the lock in the background unless release() or detach() was called before. Never
  /// blocks.
  ~Lease();

  /// The resource as it was asked for, without the key prefix; the first one if there are several.
  [[nodiscard]] std::string resource() const;
  /// All resources of a lease from acquire_all(); otherwise the only one.
  [[nodiscard]] std::vector<std::string> resources() const;
  /// The value under the key on the nodes that granted the lock: 40 hexadecimal digits, followed by
  /// '@' and the label of the options if there is one. The reference is good for as long as the
  /// Lease, or one that it was moved to, exists.
  [[nodiscard]] const OwnerToken& owner_token() const;
  /// A number that grows with every successive holder of the resource; no two holders have the same
  /// number. With it the resource can refuse a former holder's requests (docs/fencing.md). Below
  /// 2^53; 0 if fencing is off.
  [[nodiscard]] std::uint64_t fencing_token() const noexcept;

  /// The end of the lease that the nodes have agreed to so far: start + ttl - (ttl x drift_factor +
  /// 2 ms). `start` was read before the first byte of the acquisition, or of the last renewal, was
  /// written (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
  [[nodiscard]] Clock::time_point valid_until() const noexcept;
  /// The time until valid_until(), read from Clock at the call; zero once the lease has ended.
  [[nodiscard]] Clock::duration remaining() const noexcept;
  /// Whether the lease still holds, read from Clock at the call. Once false it stays false.
  [[nodiscard]] bool is_valid() const noexcept;
  /// A token that is requested to stop `stop_margin` before valid_until(), or as soon as the lease
  /// is lost, released or destroyed. A renewal that succeeds after that still moves valid_until(),
  /// but it is the last one: only extend() renews further. The token is made at the first call. Its
  /// callbacks run on the loop's thread and must not block. In a forked child this returns a token
  /// that is requested to stop already; a copy that was taken before the fork is not.
  [[nodiscard]] std::stop_token stop_token() const;
  /// Each node's vote on the acquisition.
  [[nodiscard]] Outcome outcome() const;

  /// Makes the lease last `ttl` from now (never less than it already does) and renews it by that
  /// ttl from then on. Needs the votes of a quorum before the old end. Errc::invalid_argument if
  /// ttl is above max_ttl or another extend() is under way. If it fails with Errc::no_quorum or
  /// Errc::lost, the old end stands unless the lease is lost. Blocking; call it from any thread but
  /// the loop's own.
  [[nodiscard]] Result<void> extend(std::chrono::nanoseconds ttl);
  /// Deletes the key on every node that still holds our token. is_valid() is false as soon as this
  /// is called. Succeeds once a quorum of nodes has deleted the key, or has answered without
  /// showing that the lock was lost before. Errc::lost if a quorum turned out not to hold it any
  /// more, Errc::expired if the lease had run out, Errc::not_held if it was released before,
  /// Errc::no_quorum if fewer than a quorum answered (a node that comes back within the ttl
  /// receives the release then). Blocking; call it from any thread but the loop's own.
  Result<void> release();
  /// Turns a write lock into a read lock: waiting readers are admitted, and nobody else writes in
  /// between. This also renews the lease, and fails as extend() does; after a failure the lease is
  /// a read lock too, on every node that the request reached. There is no way back: a reader that
  /// wants to write releases first and then looks again at what it has read. A read lock is only
  /// renewed. Blocking; call it from any thread but the loop's own.
  [[nodiscard]] Result<void> downgrade();
  /// Stops renewing and lets the keys run out. The destructor then releases nothing.
  void detach() noexcept;

  /// The same as extend(), downgrade() and release(), from any thread; the handler runs as those of
  /// Coordinator do. An empty handler throws std::invalid_argument, a call in a forked child throws
  /// Error(Errc::closed), and a call on a Lease that holds nothing Error(Errc::not_held).
  void async_extend(std::chrono::nanoseconds ttl, Handler<Result<void>> handler);
  void async_downgrade(Handler<Result<void>> handler);
  void async_release(Handler<Result<void>> handler);

  /// The same for coroutines, also on the loop's own thread: `co_await lease.co_release();`. The
  /// Lease must not be moved or destroyed before the co_await is over. The operation goes on
  /// without the coroutine if the coroutine is destroyed.
  Awaitable<Result<void>> co_extend(std::chrono::nanoseconds ttl);
  Awaitable<Result<void>> co_downgrade();
  Awaitable<Result<void>> co_release();

 private:
  friend class detail::LeaseState;
  friend void detail::release_with_thread(Lease lease);
  explicit Lease(detail::LeaseState* state) noexcept : state_(state) {}
  detail::LeaseState* state_ = nullptr;
};

}  // namespace quorumlock
