#include <quorumlock/coordinator.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/operations.hpp"
#include "config/quoted.hpp"
#include "config/refusal.hpp"
#include "lock/round.hpp"
#include "loop/driver.hpp"
#include "loop/inquiry.hpp"
#include "loop/once_query.hpp"

namespace quorumlock {
namespace {

using detail::CoordinatorParts;
using detail::Driver;
using detail::Handler;
using detail::OnceQuery;
using detail::SharedRouter;
using std::chrono::nanoseconds;

/// Lua and Redis tell numbers apart up to here.
constexpr std::uint64_t last_period = (std::uint64_t{1} << 53U) - 1;

/// Asks the nodes by an OnceQuery, again and again until a quorum has answered: a node that has
/// come back has the lock from the next renewal on, and its vote may be needed. Ends at the end
/// that the lease had when this began, or when it is over, or no quorum can have its lock.
class OnceInquiry final : public detail::Inquiry {
 public:
  /// The lease outlives this.
  OnceInquiry(const Lease& lease, OnceQuery::Goal goal, Handler<Result<bool>> handler)
      : lease_(lease),
        name_(lease.resource()),
        until_(lease.valid_until()),
        goal_(std::move(goal)),
        handler_(std::move(handler)) {}

  void start(Driver& driver) override {
    pause_ = std::max<core::Duration>(driver.cluster().options.retry.delay,
                                      std::chrono::milliseconds(1));
    query_.begin(Clock::now(), driver.inquiries().session(), id, goal_);
  }

  void answered(Driver& driver, const detail::Session::Answered& answer) override {
    const core::Time now = Clock::now();
    query_.take(now, driver.inquiries().session(), answer);
    switch (query_.verdict()) {
      case core::Verdict::pending: return;
      case core::Verdict::won:
        // A node that voted may have forgotten that, and votes again after max_ttl (proof/once.py).
        if (is_over(now)) return fail(driver);
        return finish(driver, query_.is_done());
      case core::Verdict::lost: break;
    }
    const bool gone = query_.tally().certainly_gone();
    if (gone || query_.hopeless() || is_over(now + pause_)) return fail(driver);
    driver.inquiries().wake_at(*this, now + pause_);
  }

  void due(Driver& driver) override {
    ++attempts_;
    query_.again(Clock::now(), driver.inquiries().session());
  }

  void dismiss() override {
    const std::unique_ptr<OnceInquiry> mine(this);
    handler_(
        Error(goal_.done ? Errc::lost : Errc::closed, could_not() + ": the coordinator is closed"));
  }

 private:
  [[nodiscard]] std::string could_not() const {
    return std::string("could not ") + what() + " " + detail::quoted(name_);
  }
  [[nodiscard]] const char* what() const {
    return goal_.done ? "note that the period is done of" : "find out which period is done of";
  }

  [[nodiscard]] bool is_over(core::Time at) const { return !lease_.is_valid() || at >= until_; }

  void fail(Driver& driver) {
    const Errc why = goal_.done ? Errc::lost : core::why_unreached(query_.tally());
    finish(driver,
           driver.calls().error_of(why, what(), name_, query_.tally(), attempts_, reason()));
  }
  /// Why it failed, if the code does not say that.
  [[nodiscard]] std::string reason() const {
    if (!lease_.is_valid()) return "the lease has ended";
    if (query_.tally().certainly_gone()) return "too few nodes still have its lock";
    return goal_.done ? "no quorum of nodes has noted it while the lease lasted" : "";
  }

  void finish(Driver& driver, Result<bool> result) {
    const std::unique_ptr<OnceInquiry> mine(this);
    driver.inquiries().end(*this);
    handler_(std::move(result));
  }

  const Lease& lease_;
  const std::string name_;
  const core::Time until_;
  const OnceQuery::Goal goal_;
  Handler<Result<bool>> handler_;
  OnceQuery query_;
  core::Duration pause_{};
  int attempts_ = 1;
};

Result<bool> ask(Coordinator& coordinator, const char* call, const Lease& lease,
                 std::uint64_t period, const OnceOptions& options, bool done) {
  const SharedRouter& router = CoordinatorParts::router(coordinator);
  if (router == nullptr) return detail::moved_from(call);
  if (const auto error = router->cannot_block(call)) return *error;
  const std::string name = lease.resource();
  return detail::wait_for<Result<bool>>([&](auto handler) {
    OnceQuery::Goal goal{.key = router->options().key_prefix + name,
                         .owner = lease.owner_token(),
                         .fence = lease.fencing_token(),
                         .keep = options.keep,
                         .period = period,
                         .done = done};
    router->of(name)->post(
        std::make_unique<OnceInquiry>(lease, std::move(goal), std::move(handler)).release());
  });
}

}  // namespace

Result<void> detail::check_once(Coordinator& coordinator, std::uint64_t period,
                                const OnceOptions& options) {
  const SharedRouter& router = CoordinatorParts::router(coordinator);
  if (router == nullptr) return moved_from("lock");
  if (period > last_period) {
    return refusal("the period is " + std::to_string(period) +
                   ": it must be below 2^53, which is " + std::to_string(last_period + 1));
  }
  if (options.mode.value_or(LockMode::exclusive) != LockMode::exclusive) {
    return refusal("mode is not exclusive: one runs what is to be done once; leave mode out");
  }
  const Options& all = router->options();
  if (!all.fencing) {
    return refusal("fencing is off: what is to be done once needs it, so leave it on");
  }
  return options.keep ? check_memory("keep", *options.keep, max_ttl_of(all)) : Result<void>();
}

Result<bool> detail::is_done(Coordinator& coordinator, const Lease& lease, std::uint64_t period,
                             const OnceOptions& options) {
  return ask(coordinator, "find out which period is done", lease, period, options, false);
}

Result<void> detail::note_done(Coordinator& coordinator, const Lease& lease, std::uint64_t period,
                               const OnceOptions& options) {
  if (!lease.is_valid()) {
    return Error(Errc::lost, "the lease of " + detail::quoted(lease.resource()) +
                                 " ended before its function returned, so the period is not done");
  }
  const Result<bool> noted =
      ask(coordinator, "note that a period is done", lease, period, options, true);
  return noted ? Result<void>() : Result<void>(noted.error());
}

}  // namespace quorumlock
