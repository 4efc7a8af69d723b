#pragma once

#include <atomic>
#include <cstdint>
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
///
/// There may be a million of them: what most leases never need is made on demand, and kept for the
/// next lease.
class LeaseState final : public Task {
 public:
  ~LeaseState() override;

  // On the loop.
  /// Of this claim, for a resource whose name, of that size, is the end of the claim's key.
  void begin(std::shared_ptr<Runtime> runtime, core::ClaimId id, const core::Claim& claim,
             std::size_t resource_size, std::vector<std::string> others, int attempts);
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

  [[nodiscard]] std::string_view resource() const {
    return names.key().substr(names.key().size() - resource_size_);
  }
  /// More resources, where it is of several.
  [[nodiscard]] const std::vector<std::string>& others() const;
  [[nodiscard]] std::string_view token() const { return names.token(); }

  /// What release() has marked it with, so that the second one is told.
  static constexpr Errc released = Errc::not_held;

  /// The first release() on its way to the loop, and whom it tells.
  struct Release final : Task {
    explicit Release(LeaseState& of) : lease(of) {}
    void run(Driver& driver) override;
    void dismiss() override;
    LeaseState& lease;
    detail::Handler<Result<void>> handler;
  };
  /// Made when it is first asked for, by him who has ended the lease by a release.
  Release& release_task();
  /// Empty where nobody waits for the release.
  detail::Handler<Result<void>> take_on_released();

  // Written by begin() alone.
  std::shared_ptr<Runtime> runtime;
  core::Names names;
  std::uint64_t fence = 0;
  core::ClaimId claim;
  core::PackedVotes votes;
  int attempts = 0;

  // The loop's own.
  /// An extend or a downgrade that is under way.
  struct Asked {
    const char* what = "extend";
    detail::Handler<Result<void>> handler;
  };
  Asked& asked() { return rare().asked; }
  [[nodiscard]] bool is_asked() const {
    const Rare* rare = rare_.load(std::memory_order_relaxed);
    return rare != nullptr && rare->asked.handler;
  }
  bool detached = false;

 private:
  struct Rare {
    std::vector<std::string> others;  ///< not changed while the handle lives
    Asked asked;
  };
  /// Made when it is first asked for, on the loop.
  Rare& rare();

  std::atomic<bool> warned_{false};
  std::atomic<std::int8_t> knowers_{0};
  std::atomic<Errc> ended_{Errc()};
  std::uint32_t resource_size_ = 0;
  /// valid_until in nanoseconds while the lease lasts, zero once it has ended: one word, so that
  /// a reader who has found the lease ended and a renewal that comes in cannot both be right.
  std::atomic<Clock::rep> deadline_{0};
  std::atomic<Clock::rep> valid_until_{0};
  std::atomic<std::stop_source*> stop_{nullptr};
  std::atomic<Rare*> rare_{nullptr};  ///< owned
  std::unique_ptr<Release> release_;
};

}  // namespace quorumlock::client
