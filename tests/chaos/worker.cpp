#include <quorumlock/quorumlock.hpp>

#include "chaos/worker.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>

#include "chaos/pause.hpp"
#include "chaos/report.hpp"
#include "chaos/store.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// One write of less than PIPE_BUF, so the kernel does not mix it with those of other workers.
void say(std::string line) {
  line += '\n';
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

/// What the coordinator has logged last, for a worker that ends although nobody asked it to.
class LastWords {
 public:
  void operator()(std::string_view sentence) {
    const std::lock_guard lock(mutex_);
    if (sentences_.size() == most) sentences_.pop_front();
    const auto age = std::chrono::duration_cast<milliseconds>(Clock::now() - begin_);
    sentences_.push_back(std::to_string(age.count()) + " ms: " + std::string(sentence));
  }
  [[nodiscard]] std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const std::string& sentence : sentences_) text += "\n    " + sentence;
    return text;
  }

 private:
  static constexpr std::size_t most = 12;
  const Time begin_ = Clock::now();
  mutable std::mutex mutex_;
  std::deque<std::string> sentences_;
};

/// Written by the loop, read by the worker.
struct Telling {
  std::atomic<Clock::rep> when{0};
  void operator()() {
    Clock::rep never = 0;
    when.compare_exchange_strong(never, Clock::now().time_since_epoch().count());
  }
};

class Worker {
 public:
  Worker(const WorkerSettings& settings, std::stop_token end)
      : settings_(settings), end_(std::move(end)), random_(settings.seed), store_(settings.store) {}

  void run(Coordinator& coordinator) {
    const std::string own = "kept-" + std::to_string(settings_.number);
    Result<Lease> kept = Error(Errc::closed, "");
    if (settings_.keeps) kept = coordinator.acquire(own, {.ttl = settings_.max_ttl, .wait = 20s});
    while (!end_.stop_requested()) {
      if (settings_.keeps && !(kept && kept->is_valid())) {
        throw std::runtime_error("the lease of " + own + " was lost");
      }
      const Time asked = Clock::now();
      const Kind kind = refused_ ? Kind::alone : draw_kind();
      Result<Lease> lease = acquire(coordinator, kind);
      if (lease) {
        hold(std::move(*lease), asked, kind);
      } else {
        if (settings_.verbose) {
          std::cerr << "worker " + std::to_string(settings_.number + 1) + ": " +
                           lease.error().what() + "\n";
        }
        const bool misconfigured = lease.error().code() == Errc::misconfigured;
        say(misconfigured ? was_refused_for_its_nodes : was_refused);
      }
      refused_ = !lease;
      pause(milliseconds(between(5, 60)));  // gives the others a turn
    }
  }

 private:
  int between(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned>(most - least + 1));
  }

  enum class Kind { alone, shared, several, permit };
  Kind draw_kind() {
    if (settings_.alone) return Kind::alone;
    switch (between(1, 8)) {
      case 1: return Kind::permit;
      case 2: return settings_.resources.size() > 1 ? Kind::several : Kind::alone;
      case 3:
      case 4: return Kind::shared;
      default: return Kind::alone;
    }
  }

  Result<Lease> acquire(Coordinator& coordinator, Kind kind) {
    const int ttl = static_cast<int>(settings_.ttl.count());
    LockOptions options{.ttl = milliseconds(between(ttl * 2 / 3, ttl * 4 / 3)), .wait = 3s};
    // A renewal repairs what the nodes have lost: without it more depends on the quarantine.
    options.auto_extend = between(1, 3) > 1;
    const bool in_order = !settings_.alone && between(1, 3) > 1;
    options.order = in_order ? WaitOrder::fifo : WaitOrder::unordered;
    if (kind == Kind::shared) options.mode = LockMode::shared;
    const std::size_t which = random_() % settings_.resources.size();
    // Others may hold a lock for as long as a worker waits. Nobody else wants its own one, which
    // shows that it is served.
    const std::string resource = refused_ && kind == Kind::alone && !settings_.alone
                                     ? "own-" + std::to_string(settings_.number)
                                     : settings_.resources[which];
    switch (kind) {
      case Kind::permit: {
        Semaphore semaphore(coordinator, settings_.semaphore, semaphore_permits, options);
        std::promise<Result<Lease>> permit;
        semaphore.async_acquire(
            end_, [&permit](Result<Lease> lease) { permit.set_value(std::move(lease)); });
        return permit.get_future().get();
      }
      case Kind::several:
        return coordinator.acquire_all(
            {resource, settings_.resources[(which + 1) % settings_.resources.size()]}, options,
            end_);
      case Kind::alone:
      case Kind::shared: break;
    }
    return coordinator.acquire(resource, options, end_);
  }

  /// Draws a time that is mostly short, and sometimes longer than a few ttls.
  milliseconds draw_hold() {
    switch (between(1, 16)) {
      case 1: return milliseconds(between(1000, 4000));
      case 2:
      case 3: return milliseconds(between(150, 700));
      default: return milliseconds(between(20, 100));
    }
  }

  /// Stands for the worker's work, which takes much less than a second.
  void pause(milliseconds time) {
    std::unique_lock lock(mutex_);
    never_.wait_for(lock, time, [] { return false; });
  }

  [[nodiscard]] bool goes_on(const Telling& told, bool stubborn) const {
    return !end_.stop_requested() && (told.when == 0 || stubborn);
  }

  /// Reports each resource of the lease.
  static void tell(const Lease& lease, Holding& holding) {
    for (const std::string& resource : lease.resources()) {
      holding.resource = resource;
      say(to_line(holding));
    }
  }

  /// Checks whether the lease is still ours, and reports a promise that has grown.
  static bool look(const Lease& lease, Holding& holding) {
    const Time now = Clock::now();
    if (holding.believed != Time{}) {
      holding.longest_gap = std::max(holding.longest_gap, now - holding.believed);
    }
    if (!lease.is_valid()) {
      holding.noticed = now;
      return false;
    }
    holding.believed = now;
    const Time until = lease.valid_until();
    const bool grown = until > holding.until;
    holding.until = std::max(holding.until, until);
    if (grown) tell(lease, holding);
    return true;
  }

  /// Returns false if one of the lease's resources has refused the write.
  bool write(const Lease& lease, const Holding& holding) {
    for (const std::string& resource : lease.resources()) {
      if (!store_.write(resource, holding.owner, holding.worker, holding.token)) return false;
    }
    return true;
  }

  void hold(Lease lease, Time asked, Kind kind) {
    Telling told;
    const std::stop_callback<std::reference_wrapper<Telling>> on_told(lease.stop_token(),
                                                                      std::ref(told));
    Holding holding;
    holding.shared = kind == Kind::shared;
    holding.permits = kind == Kind::permit ? semaphore_permits : 1;
    holding.owner = lease.owner_token();
    holding.worker = settings_.number;
    holding.asked = asked;
    holding.begin = Clock::now();
    holding.token = lease.fencing_token();
    const Time enough = holding.begin + draw_hold();
    const bool stubborn = between(1, 3) == 1;  // works to the end of the lease, as it may
    bool refused = false;
    bool valid = look(lease, holding);
    while (valid && !refused && Clock::now() < enough && goes_on(told, stubborn)) {
      // The worker has checked, and starts to work: its write may come too late without its
      // knowing.
      pause(milliseconds(between(4, 40)));
      // Tokens are in order for workers that hold the lock exclusively.
      if (kind == Kind::alone || kind == Kind::several) refused = !write(lease, holding);
      pause(milliseconds(between(1, 4)));
      valid = look(lease, holding);
    }
    // A lease at risk that was renewed in the end: the worker goes on for a while, not for ever.
    const Time tired = Clock::now() + settings_.ttl;
    while (valid && told.when != 0 && goes_on(told, stubborn) && Clock::now() < tired) {
      pause(1ms);
      valid = look(lease, holding);
    }
    if (valid) {
      let_go(std::move(lease), holding, told);
    } else {
      for (int patience = 0; told.when == 0 && patience < 1000; ++patience) pause(1ms);
      finish(lease, holding, Ending::over, told);
    }
  }

  void let_go(Lease lease, Holding& holding, const Telling& told) {
    holding.noticed = Clock::now();
    if (between(1, 20) == 1) {
      finish(lease, holding, Ending::detached, told);
      lease.detach();
    } else {
      // Reported before the release, since the worker may be killed in the middle.
      finish(lease, holding, Ending::released, told);
      (void)lease.release();
    }
  }

  static void finish(const Lease& lease, Holding& holding, Ending ending, const Telling& told) {
    holding.ending = ending;
    if (const Clock::rep when = told.when; when != 0) holding.told = Time(Clock::duration(when));
    tell(lease, holding);
  }

  const WorkerSettings& settings_;
  std::stop_token end_;
  std::mt19937_64 random_;
  StoreClient store_;
  bool refused_ = false;  ///< its last acquisition was
  std::mutex mutex_;
  std::condition_variable never_;
};

}  // namespace

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Moves the coordinator to the nodes in the configuration whenever they have changed, as the
/// program's `run` does.
void follow(const std::filesystem::path& file, std::string known, Coordinator& coordinator,
            std::stop_token end) {
  while (!end.stop_requested()) {
    pause(50ms);
    std::string text = text_of(file);
    if (text == known) continue;
    const Result<Options> options = Options::from_json(text);
    const Result<void> moved =
        options ? coordinator.set_nodes(options->nodes) : Result<void>(options.error());
    if (!moved) throw std::runtime_error(moved.error().what());
    known = std::move(text);
  }
}

}  // namespace

Options options_of(const WorkerSettings& settings) {
  Options options;
  options.nodes = settings.nodes;
  options.ttl = settings.ttl;
  options.max_ttl = settings.max_ttl;
  options.order = WaitOrder::unordered;
  options.retry = {10ms, 30ms};
  options.connect_timeout = 1s;
  if (settings.verbose) {
    options.log = [number = settings.number](std::string_view sentence) {
      std::cerr << "worker " + std::to_string(number + 1) + ": " + std::string(sentence) + "\n";
    };
  }
  return options;
}

int run_worker(const WorkerSettings& settings) {
  // Ctrl-C reaches us too, but the parent decides.
  for (const int which : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(which, SIG_IGN);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
  const Descriptor asked(::signalfd(-1, &term, SFD_CLOEXEC));
  const std::string configuration = text_of(settings.configuration);
  Options options = options_of(settings);
  const auto words = std::make_shared<LastWords>();
  if (!options.log) options.log = [words](std::string_view sentence) { (*words)(sentence); };
  const Result<Options> configured = Options::from_json(configuration);
  if (configured) options.nodes = configured->nodes;
  Result<Coordinator> coordinator = Coordinator::create(std::move(options));
  if (!coordinator) {
    std::cerr << "chaos worker: " << coordinator.error().what() << '\n';
    return 64;
  }
  std::stop_source end;
  std::thread parent([&] {
    pollfd ends[] = {{STDIN_FILENO, POLLIN, 0}, {asked.get(), POLLIN, 0}};
    while (::poll(ends, 2, -1) <= 0) {
    }
    end.request_stop();
  });
  std::thread follower([&] {
    try {
      follow(settings.configuration, configuration, *coordinator, end.get_token());
    } catch (const std::exception& error) {
      std::cerr << "chaos worker: " << error.what() << '\n';
      ::_exit(1);
    }
  });
  int code = 0;
  try {
    Worker(settings, end.get_token()).run(*coordinator);
  } catch (const std::exception& error) {
    std::cerr << "chaos worker: " + std::string(error.what()) + words->text() + "\n";
    code = 1;
  }
  end.request_stop();
  follower.join();
  coordinator->close();
  if (code != 0) ::_exit(code);  // the parent has not asked us to end
  parent.join();
  return code;
}

}  // namespace quorumlock::chaos
