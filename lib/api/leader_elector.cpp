#include <quorumlock/election.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include <quorumlock/options.hpp>
#include "api/campaign_pause.hpp"
#include "config/refusal.hpp"
#include "loop/kernel_random.hpp"

namespace quorumlock {
namespace {

/// Returns after this time, or as soon as the stop is requested.
void rest(core::Duration span, const std::stop_token& stop) {
  std::mutex guard;
  std::condition_variable_any never;
  std::unique_lock<std::mutex> lock(guard);
  never.wait_for(lock, stop, span, [] { return false; });
}

/// Calls `observed` until it is closed; closing waits for a call that is under way.
class Observation {
 public:
  explicit Observation(const std::function<void(const std::optional<Leader>&)>& observed)
      : observed_(observed) {}

  void hear(const std::optional<Leader>& leader) {
    const std::lock_guard<std::mutex> lock(guard_);
    if (open_) observed_(leader);
  }
  void close() {
    const std::lock_guard<std::mutex> lock(guard_);
    open_ = false;
  }

 private:
  std::mutex guard_;
  bool open_ = true;
  const std::function<void(const std::optional<Leader>&)>& observed_;
};

}  // namespace

/// One leadership, while `started` runs. Its stop request follows the leadership's and run()'s.
class LeaderElector::Term {
 public:
  Term(LeaderElector& elector, const Leadership& leadership, const std::stop_token& stop)
      : elector_(elector),
        leadership_(leadership),
        on_lost_(leadership.stop_token(), Ask{*this}),
        on_stop_(stop, Ask{*this}) {
    const std::lock_guard<std::mutex> lock(elector_.guard_);
    elector_.term_ = this;
  }
  Term(const Term&) = delete;
  Term& operator=(const Term&) = delete;
  ~Term() {
    const std::lock_guard<std::mutex> lock(elector_.guard_);
    elector_.term_ = nullptr;
  }

  [[nodiscard]] std::stop_token stop_token() const { return stop_.get_token(); }
  [[nodiscard]] bool leads() const { return leadership_.is_valid(); }
  /// The time since the stop request; zero if there is none yet.
  [[nodiscard]] Clock::duration overdue() const {
    const Clock::duration asked = asked_.load();
    return asked == Clock::duration::zero() ? asked : Clock::now().time_since_epoch() - asked;
  }

 private:
  struct Ask {
    Term& term;
    void operator()() const {
      auto never = Clock::duration::zero();
      term.asked_.compare_exchange_strong(never, Clock::now().time_since_epoch());
      term.stop_.request_stop();
    }
  };

  LeaderElector& elector_;
  const Leadership& leadership_;
  std::stop_source stop_;
  std::atomic<Clock::duration> asked_ = Clock::duration::zero();  // a time since the clock's epoch
  const std::stop_callback<Ask> on_lost_;
  const std::stop_callback<Ask> on_stop_;
};

LeaderElector::LeaderElector(Coordinator& coordinator, std::string name, std::string value,
                             LeaderCallbacks callbacks, LockOptions options)
    : election_(coordinator, name, options),
      name_(std::move(name)),
      value_(std::move(value)),
      callbacks_(std::move(callbacks)),
      has_wait_(options.wait.has_value()) {}

Result<void> LeaderElector::run(std::stop_token stop) {
  if (!callbacks_.started) {
    return detail::refusal("cannot campaign for \"" + name_ +
                           "\": the callback `started` is empty; give it the leader's work");
  }
  if (has_wait_) {
    return detail::refusal("cannot campaign for \"" + name_ +
                           "\": an elector campaigns without limit; leave wait unset");
  }
  if (runs_.exchange(true)) {
    return detail::refusal("cannot campaign for \"" + name_ +
                           "\": another run() of this elector is under way");
  }
  struct Ended {
    std::atomic<bool>& runs;
    ~Ended() { runs = false; }
  } const ended{runs_};
  if (!callbacks_.observed) return campaign_and_lead(stop);

  const auto observation = std::make_shared<Observation>(callbacks_.observed);
  struct Enough {
    Observation& observation;
    std::stop_source source;
    ~Enough() {
      source.request_stop();
      observation.close();
    }
  } const enough{*observation, {}};
  const Result<void> observes = election_.observe(
      enough.source.get_token(),
      [observation](const std::optional<Leader>& leader) { observation->hear(leader); });
  if (!observes) return observes;
  return campaign_and_lead(stop);
}

Result<void> LeaderElector::campaign_and_lead(const std::stop_token& stop) {
  detail::KernelRandom random;
  detail::CampaignPause pause(random);
  while (!stop.stop_requested()) {
    Result<Leadership> leadership = election_.campaign(value_, stop);
    if (!leadership && stop.stop_requested()) break;
    if (!leadership) return leadership.error();
    const Clock::time_point elected = Clock::now();
    {
      const Term term(*this, *leadership, stop);
      callbacks_.started(*leadership, term.stop_token());
    }
    (void)leadership->resign();  // fails if the leadership was lost; the nodes then know already
    const Clock::duration led = Clock::now() - elected;
    if (callbacks_.stopped) callbacks_.stopped();
    rest(pause.after(led), stop);
  }
  return {};
}

bool LeaderElector::leads() const {
  const std::lock_guard<std::mutex> lock(guard_);
  return term_ != nullptr && term_->leads();
}

Result<void> LeaderElector::check_health(std::chrono::nanoseconds patience) const {
  const std::lock_guard<std::mutex> lock(guard_);
  const Clock::duration overdue = term_ == nullptr ? Clock::duration::zero() : term_->overdue();
  if (overdue == Clock::duration::zero() || overdue <= patience) return {};
  return Error(Errc::lost, "the leader's work for \"" + name_ + "\" still runs " +
                               to_text(std::chrono::floor<std::chrono::milliseconds>(overdue)) +
                               " after it was asked to stop: end this process, since another "
                               "leader may be at work");
}

}  // namespace quorumlock
