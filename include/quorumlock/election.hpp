#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include <quorumlock/coordinator.hpp>

namespace quorumlock {

namespace client {
class Announcement;
class Runtime;
}  // namespace client
class CampaignAwaitable;

/// Who leads, as a quorum of nodes knows it.
struct Leader {
  /// What it said of itself last; empty where it holds the lock and says nothing.
  std::string value;
  std::uint64_t fencing_token = 0;  ///< grows from leader to leader; 0 where fencing is off
  std::string owner_token;
  bool operator==(const Leader&) const = default;
};

/// That one leads, for as long as the lease lasts. Move-only; the destructor resigns, in the
/// background. One that is default-made or moved from leads nothing.
class Leadership {
 public:
  Leadership() noexcept = default;
  Leadership(Leadership&& other) noexcept = default;
  Leadership& operator=(Leadership&& other) noexcept;
  ~Leadership();

  /// The lease that stands behind it; of a Leadership that leads nothing, one that holds nothing.
  [[nodiscard]] const Lease& lease() const noexcept;
  /// Requested to stop before others may lead: stop giving orders then.
  [[nodiscard]] std::stop_token stop_token() const { return lease().stop_token(); }
  /// For those who take its orders: they refuse a smaller one than they have seen.
  [[nodiscard]] std::uint64_t fencing_token() const noexcept { return lease().fencing_token(); }
  [[nodiscard]] Clock::time_point valid_until() const noexcept { return lease().valid_until(); }
  [[nodiscard]] bool is_valid() const noexcept { return lease().is_valid(); }

  /// Says something else of itself: at most 65,536 bytes. Done once a quorum of nodes has it.
  /// Errc::not_held where it does not lead any more, ::no_quorum where too few nodes answered,
  /// which are then told in the background, for as long as it leads.
  Result<void> proclaim(std::string value);
  void async_proclaim(std::string value, detail::Handler<Result<void>> handler);
  /// Lets the next one lead. As Lease::release.
  Result<void> resign();
  void async_resign(detail::Handler<Result<void>> handler);

 private:
  friend class client::Announcement;
  explicit Leadership(std::shared_ptr<client::Announcement> announcement) noexcept
      : announcement_(std::move(announcement)) {}
  std::shared_ptr<client::Announcement> announcement_;
};

/// One of several candidates leads, and everybody can know which. In the words of etcd.
///
/// Leading is holding the lock of that name: candidates wait for it in their order, and who dies is
/// replaced once its ttl has passed and at most a second more. Who takes the lock otherwise
/// (`quorumlock run`) leads too, without a value. Any number of these may have one name;
/// thread-safe.
class Election {
 public:
  /// `options` are those of the lock. Where `wait` is not set a campaign waits without limit.
  Election(Coordinator& coordinator, std::string name, LockOptions options = {});

  /// Waits until it leads, and says so: `value` is what others see of it, such as its address, at
  /// most 65,536 bytes. Blocking, from any thread but the loop's own. Errors as of
  /// Coordinator::acquire.
  Result<Leadership> campaign(std::string value, std::stop_token stop = {});
  void async_campaign(std::string value, std::stop_token stop,
                      detail::Handler<Result<Leadership>> handler);
  CampaignAwaitable co_campaign(std::string value, std::stop_token stop = {});

  /// Who leads, or none. Errc::no_quorum where too few nodes answered. Blocking, from any thread
  /// but the loop's own.
  Result<std::optional<Leader>> leader();
  void async_leader(detail::Handler<Result<std::optional<Leader>>> handler);

  /// Tells who leads now, and then of every change that lasts: another leader or value at once,
  /// that nobody leads (or somebody who says nothing) once it has been so for a tenth of a second.
  /// Woken by messages; where one is lost, or the leader dies, the nodes are asked once a second.
  /// On the loop, until `stop` is requested or the coordinator closes.
  /// An error where it cannot begin; the handler is then never called.
  Result<void> observe(detail::Handler<std::optional<Leader>> handler, std::stop_token stop);

 private:
  std::shared_ptr<client::Runtime> runtime_;
  std::string name_;
  LockOptions options_;
};

/// What co_campaign gives; awaited once, at once.
class CampaignAwaitable {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> caller);
  Result<Leadership> await_resume() { return std::move(*result_); }

 private:
  friend class Election;
  CampaignAwaitable(Election election, std::string value, std::stop_token stop)
      : election_(std::move(election)), value_(std::move(value)), stop_(std::move(stop)) {}

  Election election_;
  std::string value_;
  std::stop_token stop_;
  std::optional<Result<Leadership>> result_;
};

}  // namespace quorumlock
