#include "loop/runtime.hpp"

#include <algorithm>
#include <utility>

#include "loop/blocking.hpp"
#include "loop/call_later.hpp"
#include "loop/own_loops.hpp"
#include "loop/stats.hpp"
#include "loop/token_call.hpp"

namespace quorumlock::detail {
namespace {

std::pair<std::string, std::vector<std::string>> first_and_others(
    std::vector<std::string> resources) {
  std::string first;
  if (!resources.empty()) {
    first = std::move(resources.front());
    resources.erase(resources.begin());
  }
  return {std::move(first), std::move(resources)};
}

}  // namespace

Runtime::Runtime(Cluster cluster, std::shared_ptr<LoopThreads> threads, std::size_t number)
    : cluster_(std::move(cluster)),
      threads_(std::move(threads)),
      loop_thread_(threads_->at(number)) {}

void Runtime::refuse_in_child(std::string_view call) const {
  if (forked()) throw closed_error(call);
}

bool Runtime::on_any_loop() const {
  const ThreadNumber self = this_thread_number();
  return std::ranges::any_of(*threads_, [self](const std::atomic<ThreadNumber>& thread) {
    return thread.load(std::memory_order_relaxed) == self;
  });
}

void Runtime::ride(uv_loop_t* loop, bool own_loop) {
  driver_ = std::make_unique<Driver>(*this, loop, own_loop);
  if (own_loop) own_loops::add(*this);
}

NodeList Runtime::nodes() const {
  const std::lock_guard<std::mutex> lock(keeping_);
  return nodes_;
}

void Runtime::keep_nodes(const NodeList& nodes) {
  const std::lock_guard<std::mutex> lock(keeping_);
  nodes_ = nodes;
}

void Runtime::give_up() {
  own_loops::remove(*this);
  driver_.reset();
  inbox_.close([](Task* task) { task->dismiss(); });
}

void Runtime::loop_ended(std::vector<detail::Handler<>> then) {
  const auto self = shared_from_this();
  own_loops::remove(*this);
  driver_.reset();
  self_.reset();
  loop_thread_.store(0);
  for (auto& handler : then) handler();
}

void Runtime::post(Task* task) {
  if (on_loop() && !inbox_.closed()) {
    driver_->run_now(task);
  } else if (!inbox_.push(task)) {
    task->dismiss();
  }
}

void Runtime::acquire(std::string resource, const LockOptions& asked, std::stop_token stop,
                      detail::Handler<Result<Lease>> handler) {
  begin(std::move(resource), {}, asked, std::move(stop), std::move(handler));
}

void Runtime::acquire_all(std::vector<std::string> resources, const LockOptions& asked,
                          std::stop_token stop, detail::Handler<Result<Lease>> handler,
                          const Error* refused) {
  auto [first, others] = first_and_others(std::move(resources));
  begin(std::move(first), std::move(others), asked, std::move(stop), std::move(handler),
        std::nullopt, refused);
}

void Runtime::acquire_permit(std::string resource, std::ptrdiff_t capacity,
                             const LockOptions& asked, std::stop_token stop,
                             detail::Handler<Result<Lease>> handler) {
  begin(std::move(resource), {}, asked, std::move(stop), std::move(handler), capacity);
}

void Runtime::begin(std::string resource, std::vector<std::string> others, const LockOptions& asked,
                    std::stop_token stop, detail::Handler<Result<Lease>> handler,
                    std::optional<std::ptrdiff_t> capacity, const Error* refused) {
  refuse_in_child("lock");
  const bool at_once = on_loop() && !inbox_.closed();
  std::unique_ptr<AcquireCall> acquisition =
      at_once ? driver_->calls().spare_acquisition() : std::make_unique<AcquireCall>();
  acquisition->requested = at_once ? std::nullopt : std::optional(Clock::now());
  acquisition->stop = std::move(stop);
  acquisition->handler = std::move(handler);
  Result<Request> request = request_of(cluster_.options, asked);
  Result<void> fine = check_resource(cluster_.options, resource);
  if (fine && !others.empty()) fine = check_others(cluster_.options, asked, resource, others);
  if (fine && refused != nullptr) fine = *refused;
  if (!fine) {
    acquisition->refused = fine.error();
  } else if (Result<void> can = check_capacity(asked, capacity); !can) {
    acquisition->refused = can.error();
  } else if (!request) {
    acquisition->refused = request.error();
  } else {
    acquisition->request = *request;
    acquisition->request.capacity = static_cast<int>(capacity.value_or(0));
    acquisition->resource = std::move(resource);
    acquisition->others = std::move(others);
  }
  post(acquisition.release());
}

void Runtime::call_by_token(std::vector<std::string> resources, const OwnerToken& token,
                            core::Duration ttl, detail::Handler<Result<Clock::time_point>> handler,
                            const Error* refused) {
  auto [resource, others] = first_and_others(std::move(resources));
  Result<void> fine = check_resource(cluster_.options, resource);
  if (fine && !others.empty()) fine = check_others(cluster_.options, {}, resource, others);
  if (fine && refused != nullptr) fine = *refused;
  if (!fine) {
    return call_later<Result<Clock::time_point>>(*this, std::move(handler), fine.error());
  }
  if (token.empty()) {
    return call_later<Result<Clock::time_point>>(
        *this, std::move(handler),
        Error(Errc::invalid_argument, "the owner token is empty: give the one that acquire gave"));
  }
  auto call = std::make_unique<TokenCall>();
  call->resource = std::move(resource);
  call->others = std::move(others);
  call->token = token.text();
  call->ttl = ttl;
  call->handler = std::move(handler);
  post(call.release());
}

Error Runtime::closed_error(std::string_view call) const {
  return {Errc::closed, "cannot " + std::string(call) +
                            (forked() ? ": this process was forked off after the coordinator was "
                                        "made; make one in the child"
                                      : ": the coordinator is closed")};
}

std::optional<Error> Runtime::cannot_block(std::string_view call) const {
  if (forked()) return closed_error(call);
  if (!on_any_loop()) return std::nullopt;
  return Error(Errc::would_deadlock, "cannot " + std::string(call) +
                                         " on the loop's own thread, which has to do the work: "
                                         "use the asynchronous call");
}

namespace {

struct CloseTask final : Task {
  detail::Handler<> handler;
  void run(Driver& driver) override {
    const std::unique_ptr<CloseTask> mine(this);
    driver.close(std::move(handler));
  }
  void dismiss() override {
    const std::unique_ptr<CloseTask> mine(this);
    if (handler) handler();
  }
};

}  // namespace

namespace {

struct StatsTask final : Task {
  explicit StatsTask(Runtime& of) : runtime(of) {}
  Runtime& runtime;
  detail::Handler<Stats> handler;
  void run(Driver& driver) override {
    const std::unique_ptr<StatsTask> mine(this);
    handler(driver.stats());
  }
  void dismiss() override {
    const std::unique_ptr<StatsTask> mine(this);
    handler(runtime.last_stats());
  }
};

}  // namespace

void Runtime::keep_stats(Stats stats, core::Time waiting_since) {
  const std::lock_guard<std::mutex> lock(keeping_);
  last_stats_ = std::move(stats);
  waiting_since_ = waiting_since;
}

Stats Runtime::last_stats() const {
  const std::lock_guard<std::mutex> lock(keeping_);
  Stats stats = last_stats_;
  name_nodes(stats, nodes_, cluster_.group);
  set_oldest_wait(stats, waiting_since_, Clock::now());
  return stats;
}

Stats Runtime::stats() {
  if (on_loop()) return driver_->stats();
  if (on_any_loop()) return last_stats();
  return wait_for<Stats>([this](auto handler) {
    auto task = std::make_unique<StatsTask>(*this);
    task->handler = std::move(handler);
    post(task.release());
  });
}

void Runtime::async_close(detail::Handler<> handler) {
  if (forked()) {
    if (handler) handler();
    return;
  }
  closing_.store(true, std::memory_order_relaxed);
  auto task = std::make_unique<CloseTask>();
  task->handler = std::move(handler);
  post(task.release());
}

}  // namespace quorumlock::detail
