#include "client/runtime.hpp"

#include <pthread.h>
#include <signal.h>

#include <semaphore>
#include <system_error>
#include <utility>

#include "client/blocking.hpp"
#include "client/token_call.hpp"

namespace quorumlock::client {
namespace {

/// Counts the forks between the first process and this one.
std::atomic<unsigned long> forks{0};

unsigned long count_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return forks.load(std::memory_order_relaxed);
}

/// Signals are the host's threads' matter: ours starts with all of them blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

Error cannot_start(const std::exception& why) {
  return {Errc::misconfigured, std::string("cannot start the coordinator: ") + why.what()};
}

}  // namespace

Runtime::Runtime(Cluster cluster) : cluster_(std::move(cluster)), fork_generation_(count_forks()) {}

Runtime::~Runtime() {
  if (thread_.joinable()) thread_.detach();  // given up on the loop's own thread
}

bool Runtime::forked() const {
  return forks.load(std::memory_order_relaxed) != fork_generation_;
}

Result<std::shared_ptr<Runtime>> Runtime::with_thread(Options options, bool changes_max_ttl) {
  Result<Cluster> cluster = Cluster::from(std::move(options));
  if (!cluster) return cluster.error();
  cluster->changes_max_ttl = changes_max_ttl;
  try {
    auto runtime = std::make_shared<Runtime>(std::move(*cluster));
    auto loop = std::make_unique<uv_loop_t>();
    uv::check(uv_loop_init(loop.get()), "cannot create a loop");
    runtime->driver_ = std::make_unique<Driver>(*runtime, loop.get(), true);
    const SignalsBlocked blocked;
    runtime->has_thread_ = true;
    runtime->thread_ = std::thread([runtime, loop = std::move(loop)] {
      runtime->turning();
      uv_run(loop.get(), UV_RUN_DEFAULT);
      uv_loop_close(loop.get());
    });
    return runtime;
  } catch (const std::exception& error) {
    return cannot_start(error);
  }
}

Result<std::shared_ptr<Runtime>> Runtime::attached(uv_loop_t* loop, Options options) {
  if (loop == nullptr) return Error(Errc::invalid_argument, "attach: the loop is null");
  Result<Cluster> cluster = Cluster::from(std::move(options));
  if (!cluster) return cluster.error();
  try {
    auto runtime = std::make_shared<Runtime>(std::move(*cluster));
    runtime->turning();
    runtime->driver_ = std::make_unique<Driver>(*runtime, loop, false);
    runtime->self_ = runtime;
    return runtime;
  } catch (const std::exception& error) {
    return cannot_start(error);
  }
}

void Runtime::loop_ended(std::vector<detail::Handler<>> then) {
  const auto self = shared_from_this();
  driver_.reset();
  self_.reset();
  loop_thread_.store(std::thread::id());
  for (auto& handler : then) handler();
}

void Runtime::post(Task* task) {
  // On the loop there is no need to go through the inbox, unless something came before.
  if (on_loop() && inbox_.empty()) {
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
                          std::stop_token stop, detail::Handler<Result<Lease>> handler) {
  std::string first;
  if (!resources.empty()) {
    first = std::move(resources.front());
    resources.erase(resources.begin());
  }
  begin(std::move(first), std::move(resources), asked, std::move(stop), std::move(handler));
}

void Runtime::acquire_permit(std::string resource, std::ptrdiff_t capacity,
                             const LockOptions& asked, std::stop_token stop,
                             detail::Handler<Result<Lease>> handler) {
  begin(std::move(resource), {}, asked, std::move(stop), std::move(handler), capacity);
}

void Runtime::begin(std::string resource, std::vector<std::string> others,
                    const LockOptions& asked, std::stop_token stop,
                    detail::Handler<Result<Lease>> handler,
                    std::optional<std::ptrdiff_t> capacity) {
  if (forked()) return handler(closed_error("lock"));
  std::unique_ptr<Acquisition> acquisition =
      on_loop() && inbox_.empty() ? driver_->spare_acquisition() : std::make_unique<Acquisition>();
  acquisition->requested = Clock::now();
  acquisition->stop = std::move(stop);
  acquisition->handler = std::move(handler);
  Result<Request> request = request_of(cluster_.options, asked);
  Result<void> fine = check_resource(cluster_.options, resource);
  if (fine && !others.empty()) fine = check_others(cluster_.options, asked, resource, others);
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

Result<Clock::time_point> Runtime::call_by_token(std::string_view resource, const OwnerToken& token,
                                                 core::Duration ttl) {
  if (Result<void> fine = check_resource(cluster_.options, resource); !fine) return fine.error();
  if (token.text().empty()) {
    return Error(Errc::invalid_argument,
                 "the owner token is empty: give the one that acquire gave");
  }
  return wait_for<Result<Clock::time_point>>([&](auto handler) {
    auto call = std::make_unique<TokenCall>();
    call->resource = resource;
    call->token = token.text();
    call->ttl = ttl;
    call->handler = std::move(handler);
    post(call.release());
  });
}

Error Runtime::closed_error(std::string_view call) const {
  return {Errc::closed, "cannot " + std::string(call) +
                            (forked() ? ": this process was forked off after the coordinator was "
                                        "made; make one in the child"
                                      : ": the coordinator is closed")};
}

std::optional<Error> Runtime::cannot_block(std::string_view call) const {
  if (forked()) return closed_error(call);
  if (!on_loop()) return std::nullopt;
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

Stats Runtime::stats() {
  if (on_loop()) return driver_->stats();
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
  auto task = std::make_unique<CloseTask>();
  task->handler = std::move(handler);
  post(task.release());
}

void Runtime::close() {
  if (forked()) return;
  if (on_loop()) return async_close({});
  std::binary_semaphore closed(0);
  async_close([&closed] { closed.release(); });
  closed.acquire();
  const std::lock_guard<std::mutex> one_at_a_time(joining_);
  if (thread_.joinable()) thread_.join();
}

void Runtime::abandon() {
  if (forked()) {
    // Neither thread nor loop is in this process; what belongs to them stays as it is.
    new std::shared_ptr<Runtime>(shared_from_this());
    return;
  }
  has_thread_ ? close() : async_close({});
}

}  // namespace quorumlock::client
