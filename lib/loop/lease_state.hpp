#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/lease.hpp>

#include "lock/claim.hpp"
#include "loop/inbox.hpp"

namespace quorumlock::detail {

class Runtime;

/// The state that a Lease and the loop share: the loop writes the lease's end, the holder reads it
/// on any thread.
///
/// The state lives for as long as the handle or the engine refers to it; then it returns to the
/// loop's pool, or is deleted if the loop is gone. As a Task it is the end of the handle.
///
/// There may be a million leases: parts that most leases never need are made on demand, and kept
/// for the next lease.
class LeaseState final : public Task {
 public:
  ~LeaseState() override;

  // On the loop.
  /// Begins the lease of this claim. The last resource_size bytes of the claim's key are the
  /// resource's name.
  void begin(std::shared_ptr<Runtime> runtime, core::ClaimId id, const core::Claim& claim,
             std::size_t resource_size, std::vector<std::string> others, int attempts);
  /// Keeps the steps of its acquisition. Call it before the handle is given away.
  void keep(std::vector<TraceStep> trace) { rare().trace = std::move(trace); }
  /// Moves the end. Returns false if the lease has ended, such as when the holder saw the old end
  /// pass.
  bool renew(core::Time valid_until);
  /// Asks the holder to stop, by its stop_token().
  void warn();
  /// Resets the state for the pool, once neither handle nor engine refers to it any more.
  void recycle();
  Lease handle() { return Lease(this); }

  // From any thread.
  [[nodiscard]] bool is_valid();
  [[nodiscard]] core::Time valid_until() const;
  [[nodiscard]] std::stop_token stop_token();
  /// Made at the first call, as the token of stop_token() is.
  [[nodiscard]] const OwnerToken& owner_token();
  /// Ends the lease for this reason, unless it has ended before; returns the earlier reason, zero
  /// if there is none.
  Errc end(Errc why);
  /// The reason for the end of the lease; zero while it lasts.
  [[nodiscard]] Errc ended() const { return ended_.load(std::memory_order_acquire); }
  /// Gives up the handle's or the engine's reference. Returns true for the last reference, whose
  /// owner then disposes of the state.
  [[nodiscard]] bool let_go() { return knowers_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  void run(Driver& driver) override;
  void dismiss() override;

  [[nodiscard]] std::string_view resource() const {
    return names.key().substr(names.key().size() - resource_size_);
  }
  /// The other resources of a lease of several.
  [[nodiscard]] const std::vector<std::string>& others() const;
  /// The steps of its acquisition; none unless they were asked for.
  [[nodiscard]] const std::vector<TraceStep>& trace() const;
  [[nodiscard]] std::string_view token() const { return names.token(); }

  /// The reason with which release() ends a lease, so that a second release() fails.
  static constexpr Errc released = Errc::not_held;

  /// The first release() on its way to the loop, with its handler.
  struct Release final : Task {
    explicit Release(LeaseState& of) : lease(of) {}
    void run(Driver& driver) override;
    void dismiss() override;
    LeaseState& lease;
    detail::Handler<Result<void>> handler;
  };
  /// The task of the first release. The first call makes it, and only the thread that has ended the
  /// lease by a release makes that call.
  Release& release_task();
  /// Takes the handler of that release; empty if there is none.
  detail::Handler<Result<void>> take_on_released();

  // Written only by begin() and recycle().
  std::shared_ptr<Runtime> runtime;
  core::KeyAndToken names;
  core::ClaimId claim;
  /// How the lock was acquired.
  struct Won {
    std::uint64_t fence = 0;
    core::PackedVotes votes;
    int attempts = 0;
  };
  Won won;

  // Only for the loop.
  /// An extend or a downgrade under way.
  struct UnderWay {
    const char* what = "extend";
    detail::Handler<Result<void>> handler;
  };
  UnderWay& asked() { return rare().asked; }
  [[nodiscard]] bool is_asked() const {
    const Rare* rare = rare_.load(std::memory_order_relaxed);
    return rare != nullptr && rare->asked.handler;
  }
  bool detached = false;

 private:
  struct Rare {
    std::vector<std::string> others;  ///< not changed while the handle lives
    std::vector<TraceStep> trace;     ///< not changed while the handle lives
    UnderWay asked;
  };
  /// The rarely needed parts, made at the first call, on the loop.
  Rare& rare();

  std::atomic<bool> warned_{false};
  std::atomic<std::int8_t> knowers_{0};
  std::atomic<Errc> ended_{Errc()};
  std::uint32_t resource_size_ = 0;
  /// valid_until in nanoseconds while the lease lasts, zero once it has ended. It is one word, so
  /// that either a reader finds the lease ended or a renewal succeeds, but never both.
  std::atomic<Clock::rep> deadline_{0};
  std::atomic<Clock::rep> valid_until_{0};
  std::atomic<std::stop_source*> stop_{nullptr};
  std::atomic<const OwnerToken*> token_{nullptr};
  std::atomic<Rare*> rare_{nullptr};  ///< owned
  std::unique_ptr<Release> release_;
};

/// Releases, in the background, a lease that an ending thread still holds, and logs that.
void release_with_thread(Lease lease);
/// The error for calls in a forked child on an object of its parent.
Error closed_by_fork(std::string_view cannot, std::string_view resource);

}  // namespace quorumlock::detail
