/// Another process for the tests: `integration_worker COMMAND URL,URL,... RESOURCE [ARGUMENT...]`.
/// Its arguments and the lines of its standard input control it, and it answers by lines.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>
#include <quorumlock/quorumlock.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <semaphore>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace quorumlock;
using namespace std::chrono_literals;

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream list(text);
  for (std::string part; std::getline(list, part, ',');) parts.push_back(part);
  return parts;
}

Options options_for(const std::string& urls) {
  Options options;
  options.nodes = split(urls);
  options.node_timeout = 2s;
  options.connect_timeout = 2s;
  options.retry = {5ms, 5ms};
  return options;
}

long long since_boot(Clock::time_point time) {
  return time.time_since_epoch().count();
}

/// Holds the lock for as long as the lease is valid; then prints the last time at which it was.
/// ARGUMENTS: the ttl in ms.
int hold(Coordinator& coordinator, const std::string& resource, const std::string& ttl) {
  Lease lease = coordinator.acquire(resource, {.ttl = std::stoi(ttl) * 1ms, .wait = 20s}).value();
  std::atomic<long long> told{0};
  const std::function<void()> tell = [&] { told = since_boot(Clock::now()); };
  const std::stop_callback<std::function<void()>> on_stop(lease.stop_token(), tell);
  std::cout << "held " << lease.owner_token() << std::endl;
  Clock::time_point believed;
  for (;;) {
    const Clock::time_point now = Clock::now();
    if (!lease.is_valid()) break;
    believed = now;
    std::this_thread::yield();
  }
  while (told == 0) std::this_thread::yield();
  const bool revived = lease.is_valid() || lease.remaining() > 0s;
  std::cout << "over " << since_boot(believed) << " " << told << " " << revived << std::endl;
  std::cin.get();
  return 0;
}

/// Adds one to the number in each file, which only the lock protects. ARGUMENTS: lists of resources
/// and of files, and the number of times.
int count(Coordinator& coordinator, const std::string& resources, const std::string& files,
          const std::string& times) {
  for (int i = 0; i < std::stoi(times); ++i) {
    Result<Lease> lease = coordinator.acquire_all(split(resources), {.wait = 60s});
    if (!lease) {
      std::cerr << lease.error().what() << std::endl;
      return 1;
    }
    for (const std::string& file : split(files)) {
      long long number = 0;
      std::ifstream(file) >> number;
      std::this_thread::yield();
      std::ofstream(file) << number + 1;
    }
    if (!lease->is_valid()) return 2;
    (void)lease->release();
  }
  return 0;
}

/// Writes the fencing tokens of its leases into a file, one line each while it has the lock, from
/// two coordinators at once. ARGUMENTS: the nodes, the file, the number for each.
int fences(const std::string& urls, const std::string& resource, const std::string& file,
           const std::string& times) {
  std::atomic<int> failures{0};
  const auto write = [&] {
    Coordinator coordinator = Coordinator::create(options_for(urls)).value();
    std::ofstream lines(file, std::ios::app);
    for (int i = 0; i < std::stoi(times); ++i) {
      Result<Lease> lease = coordinator.acquire(resource, {.wait = 60s});
      if (!lease || !(lines << lease->fencing_token() << std::endl)) {
        if (!lease) std::cerr << lease.error().what() << std::endl;
        ++failures;
        return;
      }
    }
  };
  std::thread one(write);
  std::thread two(write);
  one.join();
  two.join();
  return failures == 0 ? 0 : 1;
}

/// Unblocks SIGPIPE. The library's own thread blocks all signals, but on a host's loop they would
/// be delivered. Must be called on the loop.
void let_sigpipe_through() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

/// Prints "busy" on the loop's thread and reads a line there; then asks the loop, which has not
/// looked at its sockets since, for a lock.
int broken(Coordinator& coordinator, const std::string& resource) {
  (void)coordinator.acquire(resource);
  std::binary_semaphore done(0);
  const LockOptions refused{.ttl = -1s};
  coordinator.async_acquire(resource, refused, {}, [&](const Result<Lease>&) {
    let_sigpipe_through();
    std::cout << "busy" << std::endl;
    std::cin.get();
    coordinator.async_acquire(resource, {}, {}, [&](const Result<Lease>& lease) {
      std::cout << (lease ? "locked" : "refused") << std::endl;
      done.release();
    });
  });
  done.acquire();
  return 0;
}

/// Leads until its standard input ends. ARGUMENTS: the ttl in ms, the value to proclaim.
int lead(Coordinator& coordinator, const std::string& name, const std::string& ttl,
         const std::string& value) {
  const Leadership leads =
      Election(coordinator, name, {.ttl = std::stoi(ttl) * 1ms}).campaign(value).value();
  std::cout << "leading" << std::endl;
  std::cin.get();
  return 0;
}

/// Locks and unlocks without a pause, whatever the results, until its standard input ends.
int cycle(Coordinator& coordinator, const std::string& resource) {
  coordinator.async_acquire(resource, {.ttl = -1s}, {},
                            [](const Result<Lease>&) { let_sigpipe_through(); });
  std::atomic<bool> end{false};
  std::thread reader([&] {
    while (std::cin.get() != std::char_traits<char>::eof()) {
    }
    end = true;
  });
  std::cout << "cycling" << std::endl;
  long long locked = 0;
  while (!end) {
    if (Result<Lease> lease = coordinator.acquire(resource)) ++locked;
  }
  reader.join();
  std::cout << "locked " << locked << std::endl;
  return 0;
}

/// Holds a permit until it is killed. ARGUMENTS: the capacity, the ttl in ms.
int permit(Coordinator& coordinator, const std::string& resource, const std::string& capacity,
           const std::string& ttl) {
  Semaphore semaphore(coordinator, resource, std::stoi(capacity), {.ttl = std::stoi(ttl) * 1ms});
  semaphore.acquire();
  std::cout << "held" << std::endl;
  std::cin.get();
  return 0;
}

/// Has a file in a directory while it holds a permit, and checks that there are never more files
/// than permits. ARGUMENTS: the capacity, the directory, the number of times.
int crowd(Coordinator& coordinator, const std::string& resource, const std::string& capacity,
          const std::string& directory, const std::string& times) {
  Semaphore semaphore(coordinator, resource, std::stoi(capacity));
  const std::filesystem::path file = std::filesystem::path(directory) / std::to_string(::getpid());
  for (int i = 0; i < std::stoi(times); ++i) {
    semaphore.acquire();
    std::ofstream(file) << i;
    const std::filesystem::directory_iterator all(directory);
    if (std::distance(begin(all), end(all)) > std::stoi(capacity)) return 1;
    std::filesystem::remove(file);
    if (!semaphore.lease().is_valid()) return 2;
    semaphore.release();
  }
  return 0;
}

/// The code and the sentence of an error, on one line.
std::string told(const Error& error) {
  const std::error_code code = error.code();
  return (code == std::errc::too_many_files_open              ? "files: "
          : code == std::errc::not_enough_memory              ? "memory: "
          : code.category() == category()                     ? "ours: "
          : code == std::errc::resource_unavailable_try_again ? "threads: "
                                                              : "other: ") +
         std::string(error.what());
}

/// Tries to lock, at once, and prints the result.
void try_to_lock(Coordinator& coordinator, const std::string& resource,
                 std::chrono::milliseconds wait = 0ms) {
  const Result<Lease> lease = coordinator.acquire(resource, {.wait = wait});
  std::cout << (lease ? "locked" : told(lease.error())) << std::endl;
}

std::chrono::nanoseconds time_of_cpu() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

/// Creates a coordinator while this process can open only a few more descriptors. Tries to lock,
/// waits for 300 ms, and prints whether it used a CPU for half of that. Then lets the process open
/// more, and locks. ARGUMENTS: how many more descriptors at first.
int with_descriptors(const std::string& urls, const std::string& resource,
                     const std::string& free) {
  const rlimit few{64, 64};
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::vector<int> hoard;
  for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) hoard.push_back(fd);
  for (int i = 0; i < std::stoi(free); ++i, hoard.pop_back()) ::close(hoard.back());
  Result<Coordinator> coordinator = Coordinator::create(options_for(urls));
  std::cout << (coordinator ? "created" : told(coordinator.error())) << std::endl;
  if (!coordinator) {
    for (const int fd : hoard) ::close(fd);
    coordinator = Coordinator::create(options_for(urls));
  } else {
    try_to_lock(*coordinator, resource + "/few");
    const std::chrono::nanoseconds before = time_of_cpu();
    (void)coordinator->acquire(resource + "/few", {.wait = 300ms});
    std::cout << (time_of_cpu() - before < 150ms ? "calm" : "busy") << std::endl;
    for (const int fd : hoard) ::close(fd);
  }
  try_to_lock(coordinator.value(), resource, 20s);
  return 0;
}

/// Becomes a user whose number of threads can be limited, if this is root.
void leave_root() {
  constexpr uid_t nobody = 65534;
  if (::getuid() == 0 && ::setresuid(nobody, nobody, nobody) != 0) std::abort();
}

/// Creates a coordinator when this process can start no thread; then attaches one to a loop, which
/// needs a thread for its credentials only.
int without_threads(const std::string& urls, const std::string& resource) {
  leave_root();
  const rlimit none_more{0, 0};
  ::setrlimit(RLIMIT_NPROC, &none_more);
  const Result<Coordinator> none = Coordinator::create(options_for(urls));
  std::cout << (none ? "created" : told(none.error())) << std::endl;
  Options options = options_for(urls);
  std::atomic<bool> asked{false};
  options.credentials = [&asked](std::string_view, std::stop_token) {
    asked = true;
    return Result<Credentials>(Credentials{"nobody", "secret"});
  };
  uv_loop_t loop;
  (void)uv_loop_init(&loop);
  {
    Coordinator attached = Coordinator::attach(&loop, options).value();
    attached.async_acquire(resource, [&](const Result<Lease>& lease) {
      std::cout << (lease ? "locked" : told(lease.error())) << std::endl;
      attached.async_close([] {});
    });
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  std::_Exit(asked ? 1 : 0);  // LeakSanitizer would need a thread
}

/// Creates a coordinator when this process may have so much memory more, and locks. ARGUMENTS: the
/// memory in KiB.
int with_memory(const std::string& urls, const std::string& resource, const std::string& more) {
  const Options options = options_for(urls);
  long long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto all = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + std::stoll(more) * 1024);
  const rlimit most{all, all};
  ::setrlimit(RLIMIT_AS, &most);
  Result<Coordinator> coordinator = Coordinator::create(options);
  if (!coordinator) {
    std::cout << told(coordinator.error()) << std::endl;
    return 0;
  }
  try_to_lock(*coordinator, resource, 20s);
  return 0;
}

/// Leaves main() with a locked mutex.
int leave(const std::string& urls, const std::string& resource) {
  static Coordinator coordinator = Coordinator::create(options_for(urls)).value();
  static Mutex mutex(coordinator, resource, {.ttl = 30s});
  mutex.lock();
  std::cout << "locked" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.at(0) == "fences") return fences(words.at(1), words.at(2), words.at(3), words.at(4));
  if (words.at(0) == "descriptors") {
    return with_descriptors(words.at(1), words.at(2), words.at(3));
  }
  if (words.at(0) == "threads") return without_threads(words.at(1), words.at(2));
  if (words.at(0) == "memory") return with_memory(words.at(1), words.at(2), words.at(3));
  if (words.at(0) == "leave") return leave(words.at(1), words.at(2));
  Coordinator coordinator = Coordinator::create(options_for(words.at(1))).value();
  if (words.at(0) == "hold") return hold(coordinator, words.at(2), words.at(3));
  if (words.at(0) == "count") return count(coordinator, words.at(2), words.at(3), words.at(4));
  if (words.at(0) == "lead") return lead(coordinator, words.at(2), words.at(3), words.at(4));
  if (words.at(0) == "permit") return permit(coordinator, words.at(2), words.at(3), words.at(4));
  if (words.at(0) == "crowd") {
    return crowd(coordinator, words.at(2), words.at(3), words.at(4), words.at(5));
  }
  if (words.at(0) == "broken") return broken(coordinator, words.at(2));
  if (words.at(0) == "cycle") return cycle(coordinator, words.at(2));
  return 64;
}
