#include <quorumlock/election.hpp>

#include <utility>

#include "api/announcement.hpp"
#include "api/leader_look.hpp"
#include "api/operations.hpp"
#include "config/refusal.hpp"
#include "loop/blocking.hpp"
#include "loop/call_later.hpp"

namespace quorumlock {

using detail::Announcement;
using detail::Runtime;

namespace {

Error nothing_led(const char* what) {
  return {Errc::not_held, std::string("cannot ") + what + ": this Leadership leads nothing"};
}

Error coordinator_gone(const char* what) {
  return {Errc::closed, std::string("cannot ") + what + ": the coordinator was moved from"};
}

/// A task that brings a proclaim() or resign() of a Leadership to the loop.
struct LeadershipCall final : detail::Task {
  std::shared_ptr<Announcement> announcement;
  std::optional<std::string> value;  // unset: resign
  detail::Handler<Result<void>> handler;

  void run(detail::Driver& driver) override {
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
  detail::check_handler(handler, "proclaim");
  if (announcement_ == nullptr) throw nothing_led("proclaim");
  announcement_->runtime().refuse_in_child("proclaim");
  if (Result<void> fine = detail::check_value(value); !fine) {
    return detail::call_later(announcement_->runtime(), std::move(handler), std::move(fine));
  }
  post_call(announcement_, std::move(value), std::move(handler));
}

void Leadership::async_resign(detail::Handler<Result<void>> handler) {
  detail::check_handler(handler, "resign");
  if (announcement_ == nullptr) throw nothing_led("resign");
  announcement_->runtime().refuse_in_child("resign");
  post_call(announcement_, std::nullopt, std::move(handler));
}

Result<void> Leadership::proclaim(std::string value) {
  if (announcement_ == nullptr) return nothing_led("proclaim");
  if (const auto error = announcement_->runtime().cannot_block("proclaim")) return *error;
  return detail::wait_for<Result<void>>(
      [&](auto handler) { async_proclaim(std::move(value), std::move(handler)); });
}

Result<void> Leadership::resign() {
  if (announcement_ == nullptr) return nothing_led("resign");
  if (const auto error = announcement_->runtime().cannot_block("resign")) return *error;
  return detail::wait_for<Result<void>>([&](auto handler) { async_resign(std::move(handler)); });
}

Awaitable<Result<void>> Leadership::co_proclaim(std::string value) {
  return detail::awaitable_of<Result<void>>([this, value = std::move(value)](auto handler) mutable {
    async_proclaim(std::move(value), std::move(handler));
  });
}

Awaitable<Result<void>> Leadership::co_resign() {
  return detail::awaitable_of<Result<void>>(
      [this](auto handler) { async_resign(std::move(handler)); });
}

Election::Election(Coordinator& coordinator, std::string name, LockOptions options)
    : name_(std::move(name)), options_(options) {
  const detail::SharedRouter& router = detail::CoordinatorParts::router(coordinator);
  if (router != nullptr) runtime_ = router->of(name_);
  if (!options_.wait) options_.wait = forever;
}

void Election::async_campaign(std::string value, std::stop_token stop,
                              detail::Handler<Result<Leadership>> handler) {
  detail::check_handler(handler, "campaign");
  if (runtime_ == nullptr) throw coordinator_gone("campaign");
  runtime_->refuse_in_child("campaign");
  Result<void> fine = detail::check_value(value);
  if (options_.mode.value_or(LockMode::exclusive) != LockMode::exclusive) {
    fine = detail::refusal("an election has one leader: leave mode exclusive");
  }
  if (!fine) {
    return detail::call_later<Result<Leadership>>(*runtime_, std::move(handler), fine.error());
  }
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
  return detail::wait_for<Result<Leadership>>(
      [&](auto handler) { async_campaign(std::move(value), std::move(stop), std::move(handler)); });
}

CampaignAwaitable Election::co_campaign(std::string value, std::stop_token stop) {
  return CampaignAwaitable(
      [election = *this, value = std::move(value)](
          std::stop_token either, detail::Handler<Result<Leadership>> handler) mutable {
        election.async_campaign(std::move(value), std::move(either), std::move(handler));
      },
      std::move(stop));
}

void Election::async_leader(detail::Handler<Result<std::optional<Leader>>> handler) {
  detail::check_handler(handler, "tell who leads");
  if (runtime_ == nullptr) throw coordinator_gone("tell who leads");
  runtime_->refuse_in_child("tell who leads");
  const detail::Cluster& cluster = runtime_->cluster();
  if (Result<void> fine = detail::check_resource(cluster.options, name_); !fine) {
    return detail::call_later<Result<std::optional<Leader>>>(*runtime_, std::move(handler),
                                                             fine.error());
  }
  auto look = std::make_unique<detail::LeaderLook>();
  look->name = name_;
  look->handler = std::move(handler);
  runtime_->post(look.release());
}

Result<std::optional<Leader>> Election::leader() {
  if (runtime_ == nullptr) return coordinator_gone("tell who leads");
  if (const auto error = runtime_->cannot_block("tell who leads")) return *error;
  return detail::wait_for<Result<std::optional<Leader>>>(
      [&](auto handler) { async_leader(std::move(handler)); });
}

Awaitable<Result<std::optional<Leader>>> Election::co_leader() {
  return detail::awaitable_of<Result<std::optional<Leader>>>(
      [election = *this](auto handler) mutable { election.async_leader(std::move(handler)); });
}

Result<void> Election::observe(std::stop_token stop, Handler<std::optional<Leader>> handler) {
  detail::check_handler(handler, "observe");
  if (runtime_ == nullptr) return coordinator_gone("observe");
  if (runtime_->is_closed()) return runtime_->closed_error("observe");
  const detail::Cluster& cluster = runtime_->cluster();
  if (Result<void> fine = detail::check_resource(cluster.options, name_); !fine) return fine;
  const auto watch = std::make_shared<detail::LeaderWatch>(name_, std::move(handler));
  detail::LeaderWatch::begin(watch, runtime_, std::move(stop));
  return {};
}

}  // namespace quorumlock
