#include <quorumlock/coordinator.hpp>

#include <utility>

#include "client/blocking.hpp"
#include "client/create_enrolling.hpp"
#include "client/enrol_new.hpp"
#include "client/look.hpp"
#include "client/runtime.hpp"
#include "client/status_inquiry.hpp"

namespace quorumlock {

using client::Runtime;

namespace {

Error gone(const char* call) {
  return {Errc::closed, std::string("cannot ") + call + ": the coordinator was moved from"};
}

}  // namespace

Result<Coordinator> Coordinator::create(Options options) {
  Result<std::shared_ptr<Runtime>> runtime = Runtime::with_thread(std::move(options));
  if (!runtime) return runtime.error();
  return Coordinator(std::move(*runtime));
}

Result<Coordinator> client::create_enrolling(Options options) {
  Result<std::shared_ptr<Runtime>> runtime = Runtime::with_thread(std::move(options), true);
  if (!runtime) return runtime.error();
  return Coordinator(std::move(*runtime));
}

Result<Coordinator> Coordinator::attach(uv_loop_s* loop, Options options) {
  Result<std::shared_ptr<Runtime>> runtime = Runtime::attached(loop, std::move(options));
  if (!runtime) return runtime.error();
  return Coordinator(std::move(*runtime));
}

Coordinator& Coordinator::operator=(Coordinator&& other) noexcept {
  if (this != &other) {
    if (runtime_ != nullptr) runtime_->abandon();
    runtime_ = std::move(other.runtime_);
  }
  return *this;
}

Coordinator::~Coordinator() {
  if (runtime_ != nullptr) runtime_->abandon();
}

void Coordinator::async_acquire(std::string resource, LockOptions options, std::stop_token stop,
                                detail::Handler<Result<Lease>> handler) {
  if (runtime_ == nullptr) return handler(gone("lock"));
  runtime_->acquire(std::move(resource), options, std::move(stop), std::move(handler));
}

void Coordinator::async_acquire_all(std::vector<std::string> resources, LockOptions options,
                                    std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  if (runtime_ == nullptr) return handler(gone("lock"));
  runtime_->acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
}

Result<Lease> Coordinator::acquire(std::string_view resource, LockOptions options,
                                   std::stop_token stop) {
  if (runtime_ == nullptr) return gone("lock");
  if (const auto error = runtime_->cannot_block("lock")) return *error;
  return client::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire(std::string(resource), options, std::move(stop), std::move(handler));
  });
}

Result<Lease> Coordinator::acquire_all(std::vector<std::string> resources, LockOptions options,
                                       std::stop_token stop) {
  if (runtime_ == nullptr) return gone("lock");
  if (const auto error = runtime_->cannot_block("lock")) return *error;
  return client::wait_for<Result<Lease>>([&](auto handler) {
    async_acquire_all(std::move(resources), options, std::move(stop), std::move(handler));
  });
}

AcquireAwaitable Coordinator::co_acquire(std::string resource, LockOptions options,
                                         std::stop_token stop) {
  std::vector<std::string> resources;
  resources.push_back(std::move(resource));
  return {runtime_, std::move(resources), options, std::move(stop)};
}

AcquireAwaitable Coordinator::co_acquire_all(std::vector<std::string> resources,
                                             LockOptions options, std::stop_token stop) {
  return {runtime_, std::move(resources), options, std::move(stop)};
}

void AcquireAwaitable::await_suspend(std::coroutine_handle<> caller) {
  auto handler = [this, caller](Result<Lease> result) {
    result_.emplace(std::move(result));
    caller.resume();
  };
  // The coroutine may go on, and this be gone, before the call below returns.
  const std::shared_ptr<Runtime> runtime = std::move(runtime_);
  if (runtime == nullptr) return handler(gone("lock"));
  if (capacity_) {
    return runtime->acquire_permit(std::move(resources_.front()), *capacity_, options_,
                                   std::move(stop_), std::move(handler));
  }
  runtime->acquire_all(std::move(resources_), options_, std::move(stop_), std::move(handler));
}

Result<Clock::time_point> Coordinator::extend(std::string_view resource, const OwnerToken& token,
                                              std::chrono::nanoseconds ttl) {
  if (runtime_ == nullptr) return gone("extend");
  if (const auto error = runtime_->cannot_block("extend")) return *error;
  const Options& options = runtime_->cluster().options;
  if (Result<void> fine = client::check_ttl(options, ttl); !fine) return fine.error();
  return runtime_->call_by_token(resource, token, ttl);
}

Result<void> Coordinator::release(std::string_view resource, const OwnerToken& token) {
  if (runtime_ == nullptr) return gone("release");
  if (const auto error = runtime_->cannot_block("release")) return *error;
  const auto result = runtime_->call_by_token(resource, token, std::chrono::nanoseconds::zero());
  if (!result) return result.error();
  return {};
}

Result<Inspection> Coordinator::inspect(std::string_view resource) {
  if (runtime_ == nullptr) return gone("inspect");
  if (const auto error = runtime_->cannot_block("inspect")) return *error;
  const Options& options = runtime_->cluster().options;
  if (Result<void> fine = client::check_resource(options, resource); !fine) return fine.error();
  return client::wait_for<Result<Inspection>>([&](auto handler) {
    auto look = std::make_unique<client::Look>();
    look->inspection.resource = resource;
    look->handler = std::move(handler);
    runtime_->post(look.release());
  });
}

Result<ClusterStatus> Coordinator::status() {
  if (runtime_ == nullptr) return gone("look at the nodes");
  if (const auto error = runtime_->cannot_block("look at the nodes")) return *error;
  return client::wait_for<Result<ClusterStatus>>(
      [&](auto handler) { async_status(std::move(handler)); });
}

void Coordinator::async_status(detail::Handler<Result<ClusterStatus>> handler) {
  if (runtime_ == nullptr) return handler(gone("look at the nodes"));
  if (runtime_->forked()) return handler(runtime_->closed_error("look at the nodes"));
  auto inquiry = std::make_unique<client::StatusInquiry>();
  inquiry->handler = std::move(handler);
  runtime_->post(inquiry.release());
}

Stats Coordinator::stats() const {
  if (runtime_ == nullptr || runtime_->forked()) return {};
  return runtime_->stats();
}

Result<void> Coordinator::enroll_new(bool force) {
  if (runtime_ == nullptr) return gone("enroll");
  if (const auto error = runtime_->cannot_block("enroll")) return *error;
  return client::wait_for<Result<void>>([&](auto handler) {
    auto enrol = std::make_unique<client::EnrolNew>();
    enrol->force = force;
    enrol->handler = std::move(handler);
    runtime_->post(enrol.release());
  });
}

void Coordinator::close() {
  if (runtime_ != nullptr) runtime_->close();
}

void Coordinator::async_close(detail::Handler<> handler) {
  if (runtime_ == nullptr) return handler();
  runtime_->async_close(std::move(handler));
}

}  // namespace quorumlock
