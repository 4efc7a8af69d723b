#include <quorumlock/election.hpp>

#include <utility>

#include "client/announcement.hpp"
#include "client/blocking.hpp"
#include "client/leader_look.hpp"
#include "client/refusal.hpp"
#include "client/router.hpp"

namespace quorumlock {

using client::Announcement;
using client::Runtime;

namespace {

Error nothing_led(const char* what) {
  return {Errc::not_held, std::string("cannot ") + what + ": this Leadership leads nothing"};
}

Error coordinator_gone(const char* what) {
  return {Errc::closed, std::string("cannot ") + what + ": the coordinator was moved from"};
}

/// A word of the handle's to the loop.
struct LeadershipCall final : client::Task {
  std::shared_ptr<Announcement> announcement;
  std::optional<std::string> value;  // unset: resign
  detail::Handler<Result<void>> handler;

  void run(client::Driver& driver) override {
    const std::unique_ptr<LeadershipCall> mine(this);
    if (value) return announcement->proclaim(driver, std::move(*value), std::move(handler));
    announcement->resign(driver, std::move(handler));
  }
  void dismiss() override {
    const std::unique_ptr<LeadershipCall> mine(this);
    handler(announcement->runtime().closed_error(value ? "proclaim" : "resign"));
  }
};

void post_call(std::shared_ptr<Announcement> announcement, std::optional<std::string> value,
               detail::Handler<Result<void>> handler) {
  Runtime& runtime = announcement->runtime();
  auto call = std::make_unique<LeadershipCall>();
  call->announcement = std::move(announcement);
  call->value = std::move(value);
  call->handler = std::move(handler);
  runtime.post(call.release());
}

}  // namespace

Leadership& Leadership::operator=(Leadership&& other) noexcept {
  if (this == &other) return *this;
  const Leadership old(std::move(*this));  // resigns at the end
  announcement_ = std::move(other.announcement_);
  return *this;
}

Leadership::~Leadership() {
  if (announcement_ == nullptr || announcement_->runtime().forked()) return;
  post_call(std::move(announcement_), std::nullopt, [](const Result<void>&) {});
}

const Lease& Leadership::lease() const noexcept {
  static const Lease none;
  return announcement_ != nullptr ? announcement_->lease() : none;
}

void Leadership::async_proclaim(std::string value, detail::Handler<Result<void>> handler) {
  if (announcement_ == nullptr) return handler(nothing_led("proclaim"));
  if (announcement_->runtime().forked()) {
    return handler(announcement_->runtime().closed_error("proclaim"));
  }
  if (Result<void> fine = client::check_value(value); !fine) return handler(fine.error());
  post_call(announcement_, std::move(value), std::move(handler));
}

void Leadership::async_resign(detail::Handler<Result<void>> handler) {
  if (announcement_ == nullptr) return handler(nothing_led("resign"));
  if (announcement_->runtime().forked()) {
    return handler(announcement_->runtime().closed_error("resign"));
  }
  post_call(announcement_, std::nullopt, std::move(handler));
}

Result<void> Leadership::proclaim(std::string value) {
  if (announcement_ == nullptr) return nothing_led("proclaim");
  if (const auto error = announcement_->runtime().cannot_block("proclaim")) return *error;
  return client::wait_for<Result<void>>(
      [&](auto handler) { async_proclaim(std::move(value), std::move(handler)); });
}

Result<void> Leadership::resign() {
  if (announcement_ == nullptr) return nothing_led("resign");
  if (const auto error = announcement_->runtime().cannot_block("resign")) return *error;
  return client::wait_for<Result<void>>([&](auto handler) { async_resign(std::move(handler)); });
}

Election::Election(Coordinator& coordinator, std::string name, LockOptions options)
    : name_(std::move(name)), options_(options) {
  if (coordinator.router_ != nullptr) runtime_ = coordinator.router_->of(name_);
  if (!options_.wait) options_.wait = forever;
}

void Election::async_campaign(std::string value, std::stop_token stop,
                              detail::Handler<Result<Leadership>> handler) {
  if (runtime_ == nullptr) return handler(coordinator_gone("campaign"));
  if (options_.mode == LockMode::shared) {
    return handler(client::refusal("an election has one leader: leave mode exclusive"));
  }
  if (Result<void> fine = client::check_value(value); !fine) return handler(fine.error());
  auto announcement = std::make_shared<Announcement>(std::move(value), std::move(handler));
  runtime_->acquire(
      name_, options_, std::move(stop),
      [announcement = std::move(announcement), runtime = runtime_](Result<Lease> lease) {
        if (!lease) return announcement->refused(lease.error());
        Announcement::begin(announcement, runtime, std::move(*lease));
      });
}

Result<Leadership> Election::campaign(std::string value, std::stop_token stop) {
  if (runtime_ == nullptr) return coordinator_gone("campaign");
  if (const auto error = runtime_->cannot_block("campaign")) return *error;
  return client::wait_for<Result<Leadership>>(
      [&](auto handler) { async_campaign(std::move(value), std::move(stop), std::move(handler)); });
}

CampaignAwaitable Election::co_campaign(std::string value, std::stop_token stop) {
  return {*this, std::move(value), std::move(stop)};
}

void CampaignAwaitable::await_suspend(std::coroutine_handle<> caller) {
  // The coroutine may go on, and this be gone, before the call below returns.
  Election election = std::move(election_);
  election.async_campaign(std::move(value_), std::move(stop_),
                          [this, caller](Result<Leadership> result) {
                            result_.emplace(std::move(result));
                            caller.resume();
                          });
}

void Election::async_leader(detail::Handler<Result<std::optional<Leader>>> handler) {
  if (runtime_ == nullptr) return handler(coordinator_gone("tell who leads"));
  if (runtime_->forked()) return handler(runtime_->closed_error("tell who leads"));
  const client::Cluster& cluster = runtime_->cluster();
  if (Result<void> fine = client::check_resource(cluster.options, name_); !fine) {
    return handler(fine.error());
  }
  auto look = std::make_unique<client::LeaderLook>();
  look->name = name_;
  look->handler = std::move(handler);
  runtime_->post(look.release());
}

Result<std::optional<Leader>> Election::leader() {
  if (runtime_ == nullptr) return coordinator_gone("tell who leads");
  if (const auto error = runtime_->cannot_block("tell who leads")) return *error;
  return client::wait_for<Result<std::optional<Leader>>>(
      [&](auto handler) { async_leader(std::move(handler)); });
}

Result<void> Election::observe(detail::Handler<std::optional<Leader>> handler,
                               std::stop_token stop) {
  if (runtime_ == nullptr) return coordinator_gone("observe");
  if (runtime_->forked()) return runtime_->closed_error("observe");
  const client::Cluster& cluster = runtime_->cluster();
  if (Result<void> fine = client::check_resource(cluster.options, name_); !fine) return fine;
  const auto watch = std::make_shared<client::LeaderWatch>(name_, std::move(handler));
  client::LeaderWatch::begin(watch, runtime_, std::move(stop));
  return {};
}

}  // namespace quorumlock
