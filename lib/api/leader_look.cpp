#include "api/leader_look.hpp"

#include <algorithm>
#include <utility>

#include "loop/driver.hpp"
#include "loop/runtime.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

/// The longest time between two looks, which is also the longest delay by a lost message.
constexpr core::Duration look_every = 1s;

void ask_all(Driver& driver, Inquiry& inquiry, std::uint16_t question, const std::string& key) {
  const std::string counter = std::string(redis::counter_prefix) + key;
  const std::string record = std::string(redis::leader_prefix) + key;
  for (const int node : driver.node_set()) {
    driver.inquiries().ask(inquiry, node, question,
                           {"EVAL", redis::leader_script.source, "3", key, counter, record});
  }
}

struct StopTask final : Task {
  explicit StopTask(std::shared_ptr<LeaderWatch> of) : watch(std::move(of)) {}
  void run(Driver& driver) override {
    const std::unique_ptr<StopTask> mine(this);
    watch->stop(driver);
  }
  void dismiss() override { delete this; }
  std::shared_ptr<LeaderWatch> watch;
};

}  // namespace

void LeaderLook::start(Driver& driver) {
  view_.begin(driver.node_set());
  ask_all(driver, *this, 0, driver.cluster().options.key_prefix + name);
}

void LeaderLook::answered(Driver& driver, const Session::Answered& answer) {
  if (!view_.note(answer.node, answer.reply)) return;
  if (!view_.complete() && view_.version() == 0) return;
  driver.inquiries().end(*this);
  if (view_.known()) return finish(view_.leader());
  finish(Error(Errc::no_quorum,
               "cannot tell who leads \"" + name + "\": " + std::to_string(view_.answered()) +
                   " of " + std::to_string(view_.asked()) + " nodes answered, a quorum is " +
                   std::to_string(core::quorum_of(view_.asked()))));
}

void LeaderLook::finish(Result<std::optional<Leader>> result) {
  auto then = std::move(handler);
  delete this;
  then(std::move(result));
}

void LeaderLook::dismiss() {
  finish(Error(Errc::closed, "cannot tell who leads \"" + name + "\": the coordinator is closed"));
}

void LeaderWatch::begin(const std::shared_ptr<LeaderWatch>& mine,
                        const std::shared_ptr<Runtime>& runtime, std::stop_token stop) {
  mine->self_ = mine;
  mine->stop_ = stop;
  runtime->post(mine.get());
  mine->on_stop_.emplace(std::move(stop), [watch = std::weak_ptr(mine), runtime] {
    if (auto still = watch.lock()) runtime->post(new StopTask(std::move(still)));
  });
}

void LeaderWatch::start(Driver& driver) {
  key_ = driver.cluster().options.key_prefix + name_;
  driver.inquiries().listen_for_leaders(key_, true);
  look(driver);
}

void LeaderWatch::stop(Driver& driver) {
  if (key_.empty()) return;  // it has not begun, and is about to be dismissed
  const std::shared_ptr<LeaderWatch> self = std::move(self_);
  if (self == nullptr) return;
  driver.inquiries().listen_for_leaders(key_, false);
  driver.inquiries().end(*this);
}

void LeaderWatch::dismiss() {
  self_.reset();
}

void LeaderWatch::look(Driver& driver) {
  looking_ = true;
  again_ = false;
  ++round_;
  view_.begin(driver.node_set());
  ask_all(driver, *this, round_, key_);
  driver.inquiries().check_messages();
}

void LeaderWatch::due(Driver& driver) {
  if (!looking_) look(driver);
}

void LeaderWatch::heard(Driver& driver, std::string_view key) {
  if (key != key_) return;
  if (looking_) {
    again_ = true;
  } else {
    look(driver);
  }
}

void LeaderWatch::answered(Driver& driver, const Session::Answered& answer) {
  if (!looking_ || answer.tag.round != round_ || !view_.note(answer.node, answer.reply)) return;
  if (!view_.complete() && view_.version() == 0) return;
  looking_ = false;
  seen(driver);
}

void LeaderWatch::seen(Driver& driver) {
  const std::shared_ptr<LeaderWatch> self = self_;  // the handler may stop this watch
  core::Duration next = look_every;
  if (view_.first_expiry() > core::Duration::zero()) {
    next = std::min<core::Duration>(next, view_.first_expiry() + 1ms);
  }
  if (view_.known()) {
    const std::optional<core::Duration> news =
        news_.see(Clock::now(), view_.leader(), view_.version());
    if (news && *news > core::Duration::zero()) next = *news;
    if (news == core::Duration::zero() && !stop_.stop_requested()) handler_(view_.leader());
  }
  if (self_ == nullptr) return;
  if (again_) return look(driver);
  driver.inquiries().wake_at(*this, Clock::now() + next);
}

}  // namespace quorumlock::detail
