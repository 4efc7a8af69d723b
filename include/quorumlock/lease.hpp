#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/detail/handler.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

namespace client {
class LeaseState;
}

/// A lock that is held, until valid_until().
///
/// Move-only. resource(), is_valid(), remaining(), valid_until(), owner_token() and stop_token()
/// may be called from any thread at any time; extend, release, detach, moving and destroying are
/// for one thread at a time. A default-made or moved-from Lease holds nothing: it is not valid, and
/// to extend or release it is Errc::not_held.
class Lease {
 public:
  Lease() noexcept = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  /// Releases in the background, where release() or detach() did not before. Never blocks.
  ~Lease();

  /// The resource that was asked for, without the key prefix; of several the first.
  [[nodiscard]] std::string resource() const;
  /// All of them, for a lease from acquire_all; else the one.
  [[nodiscard]] std::vector<std::string> resources() const;
  /// The value under the key on the nodes that granted it: 40 hexadecimal digits.
  [[nodiscard]] std::string owner_token() const;
  /// Grows with every successive holder of the resource, and no two have the same: for the resource
  /// to refuse who comes late (docs/fencing.md). Below 2^53; 0 while fencing is off.
  [[nodiscard]] std::uint64_t fencing_token() const noexcept;

  /// The end that the nodes have agreed to by now: start + ttl - (ttl x drift_factor + 2 ms), with
  /// start read before the first byte of the acquisition or of the last renewal was written
  /// (https://redis.io/docs/latest/develop/use/patterns/distributed-locks/).
  [[nodiscard]] Clock::time_point valid_until() const noexcept;
  /// Read from Clock at the call; zero once the lease has ended.
  [[nodiscard]] Clock::duration remaining() const noexcept;
  /// Read from Clock at the call. Once false it stays false.
  [[nodiscard]] bool is_valid() const noexcept;
  /// Requested to stop stop_margin before valid_until(), or as soon as it is lost, released or
  /// dropped. A renewal that is won after that still moves valid_until(), but is the last one: to
  /// go on needs extend(). Made at the first call. Its callbacks run on the loop's thread and must
  /// not block.
  [[nodiscard]] std::stop_token stop_token() const;
  /// Who voted what when it was acquired.
  [[nodiscard]] Outcome outcome() const;

  /// Makes the lease last `ttl` from now (never less than it already does) and renews it by that
  /// ttl from then on. Needs the votes of a quorum before the old end. Errc::invalid_argument where
  /// ttl is above max_ttl or another extend is under way; Errc::no_quorum or ::lost otherwise, the
  /// old end then stands unless the lease is lost. Blocking, from any thread but the loop's own.
  [[nodiscard]] Result<void> extend(std::chrono::nanoseconds ttl);
  /// Deletes the key on every node that still holds our token. is_valid() is false as soon as this
  /// is called. Success once a quorum has deleted it, or all nodes that can be reached have;
  /// Errc::lost where a quorum turned out not to hold it any more, ::expired where it had run out,
  /// ::not_held the second time, ::no_quorum where fewer than a quorum answered (a node that comes
  /// back within the ttl is told then). Blocking, from any thread but the loop's own.
  Result<void> release();
  /// A lock to write becomes one to read: readers who wait come in, and nobody else writes in
  /// between. It is renewed by that, too, and fails as extend does; it is a lock to read then all
  /// the same, as far as nodes can be told. There is no way back: a reader who wants to write
  /// releases first and looks again at what it has read. Of a lock to read: renews it. Blocking,
  /// from any thread but the loop's own.
  [[nodiscard]] Result<void> downgrade();
  /// Stops renewing and lets the keys run out; the destructor then releases nothing.
  void detach() noexcept;

  /// As extend, downgrade and release, from any thread; the handler runs on the loop, once.
  void async_extend(std::chrono::nanoseconds ttl, detail::Handler<Result<void>> handler);
  void async_downgrade(detail::Handler<Result<void>> handler);
  void async_release(detail::Handler<Result<void>> handler);

 private:
  friend class client::LeaseState;
  explicit Lease(client::LeaseState* state) noexcept : state_(state) {}
  client::LeaseState* state_ = nullptr;
};

}  // namespace quorumlock
