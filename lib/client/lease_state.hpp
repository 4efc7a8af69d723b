#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/lease.hpp>

#include "client/inbox.hpp"
#include "core/claim.hpp"

namespace quorumlock::client {

class Runtime;

/// What a Lease and the loop share: the loop writes the end, the holder reads it on any thread.
///
/// Alive for as long as the handle or the engine knows of it; then it goes back to the loop's pool,
/// or, where there is no loop any more, is deleted. As a Task it is the handle's own end.
class LeaseState final : public Task {
 public:
  // On the loop.
  void begin(std::shared_ptr<Runtime> runtime, std::string resource, core::ClaimId claim,
             std::string_view token, std::uint64_t fence, const core::Tally& tally, int attempts,
             core::Time valid_until);
  /// Moves the end. False where the holder has seen the old end pass: the lease has expired.
  bool renew(core::Time valid_until);
  /// The holder is to stop.
  void warn();
  /// Neither handle nor engine knows of it any more: as new, for the pool.
  void recycle();
  Lease handle() { return Lease(this); }

  // From any thread.
  [[nodiscard]] bool is_valid();
  [[nodiscard]] core::Time valid_until() const;
  [[nodiscard]] std::stop_token stop_token();
  /// Ends it for this reason, unless it has ended before; gives the earlier reason, zero if none.
  Errc end(Errc why);
  /// Unset (zero) while it lasts.
  [[nodiscard]] Errc ended() const { return ended_.load(std::memory_order_acquire); }
  /// One who knew of it does no longer. True for the last one, who disposes of it.
  [[nodiscard]] bool let_go() { return knowers_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  void run(Driver& driver) override;
  void dismiss() override;

  /// What release() has marked it with, so that the second one is told.
  static constexpr Errc released = Errc::not_held;

  /// The first release() on its way to the loop; its handler is on_released.
  struct Release final : Task {
    explicit Release(LeaseState& of) : lease(of) {}
    void run(Driver& driver) override;
    void dismiss() override;
    LeaseState& lease;
  };
  Release release_task{*this};

  // Written by begin() alone.
  std::shared_ptr<Runtime> runtime;
  std::string resource;
  std::vector<std::string> others;  ///< more resources, where it is of several
  std::array<char, 40> token{};
  std::uint64_t fence = 0;
  core::Tally tally;
  int attempts = 0;
  core::ClaimId claim;

  // The loop's own; on_released is the holder's until release_task is posted.
  bool detached = false;
  const char* asked = "extend";  ///< what on_extended waits for
  detail::Handler<Result<void>> on_extended;
  detail::Handler<Result<void>> on_released;

 private:
  /// valid_until in nanoseconds while the lease lasts, zero once it has ended: one word, so that
  /// a reader who has found the lease ended and a renewal that comes in cannot both be right.
  std::atomic<Clock::rep> deadline_{0};
  std::atomic<Clock::rep> valid_until_{0};
  std::atomic<Errc> ended_{Errc()};
  std::atomic<bool> warned_{false};
  std::atomic<std::stop_source*> stop_{nullptr};
  std::atomic<int> knowers_{0};
};

}  // namespace quorumlock::client
