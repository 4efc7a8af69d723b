#include "api/router.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <new>
#include <semaphore>
#include <system_error>
#include <utility>

#include "api/status_inquiry.hpp"
#include "config/quoted.hpp"
#include "config/refusal.hpp"
#include "loop/blocking.hpp"
#include "loop/stats.hpp"
#include "tls/contexts.hpp"
#include "uv/signals_blocked.hpp"

namespace quorumlock::detail {
namespace {

/// What libuv opens for a loop: an epoll, an eventfd, a pipe for signals and, with the first loop
/// of the process, a pipe for all loops. libuv ends the process if it cannot make that one.
constexpr int descriptors_of_a_loop = 6;

/// What we open for it, or have open at one time while the options are checked.
constexpr int descriptors_of_ours = 2;

/// A loop of our own. Its destructor runs what is still closing, then closes the loop.
class OwnLoop {
 public:
  OwnLoop() {
    uv::check_descriptors(descriptors_of_a_loop, "cannot create a loop");
    uv::check(uv_loop_init(&loop_), "cannot create a loop");
  }
  ~OwnLoop() {
    run();
    uv_loop_close(&loop_);
  }
  OwnLoop(const OwnLoop&) = delete;
  OwnLoop& operator=(const OwnLoop&) = delete;
  uv_loop_t* get() { return &loop_; }
  void run() { uv_run(&loop_, UV_RUN_DEFAULT); }

 private:
  uv_loop_t loop_{};
};

/// Memory that is kept while a coordinator starts, and is free when its loops' threads begin: a
/// thread that has none left has nobody to report to, and libuv ends the process. Most of it is for
/// OpenSSL: where a thread has no room for a heap of its own, each small piece takes a page.
class Ballast {
 public:
  Ballast()
      : memory_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Ballast() {
    ::munmap(memory_, size);
    *free_ = true;
    free_->notify_all();
  }
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;

  /// Set once the memory is free.
  [[nodiscard]] std::shared_ptr<const std::atomic<bool>> is_free() const { return free_; }

 private:
  static constexpr std::size_t size = std::size_t{16} << 20;
  std::shared_ptr<std::atomic<bool>> free_ = std::make_shared<std::atomic<bool>>(false);
  void* memory_;
};

/// The error for an exception with which a coordinator did not start: this machine lacks something.
Error cannot_start(const std::exception& why) {
  const std::string begin = "cannot start the coordinator: ";
  if (dynamic_cast<const std::bad_alloc*>(&why) != nullptr) {
    return {std::make_error_code(std::errc::not_enough_memory), begin + "there is no memory left"};
  }
  std::error_code code = std::make_error_code(std::errc::resource_unavailable_try_again);
  if (const auto* const system = dynamic_cast<const std::system_error*>(&why)) {
    code = system->code();
  }
  if (code == std::errc::too_many_files_open_in_system) {
    code = std::make_error_code(std::errc::too_many_files_open);
  }
  return {code, begin + why.what()};
}

/// Checks that the files of all TLS options can be used, on a thread. If a file system does not
/// answer within this time, the nodes will say what they wait for.
Result<void> check_files(const std::vector<TlsOptions>& all, core::Duration within) {
  using Found = std::vector<std::shared_ptr<const tls::Files>>;
  const auto read = [all] {
    Found found;
    for (const TlsOptions& one : all) found.push_back(tls::Files::read(one));
    return found;
  };
  Found found;
  try {
    std::packaged_task<Found()> task(read);
    std::future<Found> reading = task.get_future();
    const uv::SignalsBlocked blocked;
    std::thread(std::move(task)).detach();
    if (reading.wait_for(within) == std::future_status::timeout) return {};
    found = reading.get();
  } catch (const std::system_error&) {
    found = read();  // without a thread
  }
  tls::Contexts contexts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (Result<void> good = contexts.take(all[i], found[i]); !good) return good;
  }
  return {};
}

Result<std::vector<Cluster>> clusters_of(Options options) {
  Result<std::vector<Cluster>> clusters = Cluster::from(std::move(options));
  if (!clusters) return clusters;
  std::vector<TlsOptions> with_files;
  bool prepared = false;
  for (const Cluster& cluster : *clusters) {
    for (const redis::Endpoint& endpoint : cluster.endpoints) {
      if (!endpoint.tls) continue;
      if (!std::exchange(prepared, true)) tls::Contexts::prepare();
      if (tls::Files::are_named_by(*endpoint.tls)) with_files.push_back(*endpoint.tls);
    }
  }
  if (with_files.empty()) return clusters;
  const core::Duration within = clusters->front().options.node_timeout;
  if (Result<void> good = check_files(with_files, within); !good) return good.error();
  return clusters;
}

std::vector<std::string> names_of_groups(const std::vector<Cluster>& groups) {
  std::vector<std::string> names;
  for (const Cluster& group : groups) names.push_back(group.group);
  return names;
}

/// Checks that there is room for the nodes of both lists together, as there must be for a moment.
Result<void> check_room(const NodeList& now, const Cluster& next) {
  int both = next.size();
  for (const NodeList::Node& node : now) {
    if (std::ranges::find(next.names, node.name) == next.names.end()) ++both;
  }
  if (both <= core::max_nodes) return {};
  return refusal("the nodes of now and the new ones are " + std::to_string(both) +
                 " together: a process can have " + std::to_string(core::max_nodes) +
                 " at a time, so replace fewer of them at once");
}

/// Moves a driver to other nodes.
struct NewNodes final : Task {
  explicit NewNodes(std::shared_ptr<const Cluster> cluster) : next(std::move(cluster)) {}
  void run(Driver& driver) override {
    const std::unique_ptr<NewNodes> mine(this);
    driver.set_nodes(*next);
  }
  void dismiss() override { delete this; }
  std::shared_ptr<const Cluster> next;
};

/// Wraps a function of the user's, so that several loops do not call it at the same time.
template <class What>
void one_at_a_time(std::function<void(What)>& function) {
  if (!function) return;
  function = [all = std::move(function), guard = std::make_shared<std::mutex>()](What what) {
    const std::lock_guard<std::mutex> lock(*guard);
    all(what);
  };
}

}  // namespace

Router::Router(std::vector<Cluster> groups, int loops)
    : groups_(groups.size()),
      placement_(names_of_groups(groups), loops, groups.front().options.key_prefix) {
  for (const Cluster& group : groups) lists_[group.group] = group.options.nodes;
  const std::size_t all = groups_ * static_cast<std::size_t>(loops);
  const auto threads = std::make_shared<LoopThreads>(all);
  for (std::size_t number = 0; number < all; ++number) {
    runtimes_.push_back(std::make_shared<Runtime>(groups[number % groups_], threads, number));
  }
}

Router::~Router() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.detach();  // the Router was abandoned on a loop's own thread
  }
}

Result<std::shared_ptr<Router>> Router::with_threads(Options options, Cluster::Purpose purpose) {
  const int count = options.loops;
  if (count > 1) {
    one_at_a_time(options.log);
    one_at_a_time(options.on_event);
  }
  std::vector<std::shared_ptr<OwnLoop>> loops;
  std::shared_ptr<Router> router;
  try {
    const Ballast ballast;
    uv::check_descriptors(descriptors_of_ours, "cannot check the options");
    Result<std::vector<Cluster>> groups = clusters_of(std::move(options));
    if (!groups) return groups.error();
    for (Cluster& group : *groups) group.purpose = purpose;
    for (int i = 0; i < count; ++i) loops.push_back(std::make_shared<OwnLoop>());
    router = std::make_shared<Router>(std::move(*groups), count);
    router->has_threads_ = true;
    for (std::size_t i = 0; i < router->runtimes_.size(); ++i) {
      router->runtimes_[i]->ride(loops[i / router->groups_]->get(), true);
    }
    const uv::SignalsBlocked blocked;
    for (const auto& loop : loops) {
      const auto first = router->runtimes_.begin() +
                         static_cast<std::ptrdiff_t>(router->threads_.size() * router->groups_);
      const auto end = first + static_cast<std::ptrdiff_t>(router->groups_);
      router->threads_.emplace_back(
          [loop, runtimes = std::vector(first, end), may_begin = ballast.is_free()] {
            may_begin->wait(false);
            for (const auto& runtime : runtimes) runtime->turning();
            loop->run();
          });
    }
    return router;
  } catch (const std::exception& error) {
    if (router != nullptr) {
      for (std::size_t i = router->threads_.size() * router->groups_; i < router->runtimes_.size();
           ++i) {
        router->runtimes_[i]->give_up();
      }
      router->close();
    }
    return cannot_start(error);
  }
}

Result<std::shared_ptr<Router>> Router::attached(uv_loop_t* loop, Options options) {
  if (loop == nullptr) return Error(Errc::invalid_argument, "attach: the loop is null");
  const int loops = options.loops;
  std::shared_ptr<Router> router;
  try {
    uv::check_descriptors(descriptors_of_ours, "cannot check the options");
    Result<std::vector<Cluster>> groups = clusters_of(std::move(options));
    if (!groups) return groups.error();
    if (loops > 1) {
      return refusal("loops is " + std::to_string(loops) +
                     ", and attach rides the one loop that it is given: leave loops at 1, or "
                     "create a coordinator with loops of its own");
    }
    router = std::make_shared<Router>(std::move(*groups), 1);
    for (const auto& runtime : router->runtimes_) {
      runtime->turning();
      runtime->ride(loop, false);
    }
    for (const auto& runtime : router->runtimes_) runtime->outlive_handles();
    return router;
  } catch (const std::exception& error) {
    if (router != nullptr) {
      for (const auto& runtime : router->runtimes_) runtime->give_up();
    }
    return cannot_start(error);
  }
}

const std::shared_ptr<Runtime>& Router::home_of(const std::vector<std::string>& resources,
                                                std::optional<Error>& refused) const {
  core::Placement::Home home;
  bool together = true;
  if (!resources.empty()) home = placement_.of(*std::ranges::min_element(resources));
  for (const std::string& resource : resources) {
    together = together && placement_.of(resource).group == home.group;
  }
  if (!together) refused = apart(resources);
  return at(home);
}

void Router::acquire_all(std::vector<std::string> resources, const LockOptions& options,
                         std::stop_token stop, detail::Handler<Result<Lease>> handler) const {
  std::optional<Error> refused;
  Runtime& home = *home_of(resources, refused);
  home.acquire_all(std::move(resources), options, std::move(stop), std::move(handler),
                   refused ? &*refused : nullptr);
}

void Router::call_by_token(std::vector<std::string> resources, const OwnerToken& token,
                           std::chrono::nanoseconds ttl,
                           detail::Handler<Result<Clock::time_point>> handler) const {
  std::optional<Error> refused;
  Runtime& home = *home_of(resources, refused);
  home.call_by_token(std::move(resources), token, ttl, std::move(handler),
                     refused ? &*refused : nullptr);
}

Error Router::apart(const std::vector<std::string>& resources) const {
  constexpr std::size_t most_named = 8;
  std::string named;
  for (std::size_t i = 0; i < resources.size() && i < most_named; ++i) {
    named += (i == 0 ? "" : ", ") + detail::quoted(resources[i]) + " is in " +
             of(resources[i])->cluster().group;
  }
  if (resources.size() > most_named) {
    named += " and " + std::to_string(resources.size() - most_named) + " more";
  }
  return refusal(
      "locks of several groups cannot be taken as one: " + named +
      ". What is locked together needs names with the same {tag}, such as {orders}:1 and "
      "{orders}:2, which keeps it in one group");
}

void Router::async_status(detail::Handler<Result<ClusterStatus>> handler) const {
  const auto ask = [](Runtime& runtime, detail::Handler<Result<ClusterStatus>> then) {
    auto inquiry = std::make_unique<StatusInquiry>();
    inquiry->handler = std::move(then);
    runtime.post(inquiry.release());
  };
  if (groups_ == 1) return ask(*runtimes_.front(), std::move(handler));
  const auto all = std::make_shared<StatusOfGroups>(groups_, std::move(handler));
  const std::vector<std::shared_ptr<Runtime>> runtimes(groups().begin(), groups().end());
  for (std::size_t i = 0; i < runtimes.size(); ++i) {
    ask(*runtimes[i], [all, i](Result<ClusterStatus> status) { all->note(i, std::move(status)); });
  }
}

Stats Router::stats() const {
  Stats sum = runtimes_.front()->stats();
  for (std::size_t i = 1; i < runtimes_.size(); ++i) add(sum, runtimes_[i]->stats());
  return sum;
}

Result<void> Router::set_nodes(const std::optional<std::string>& group, Nodes nodes) {
  if (any().is_closed()) return closed_error("set the nodes");
  const std::lock_guard<std::mutex> lock(listing_);
  if (!group && groups_ > 1) {
    return refusal("there are " + std::to_string(groups_) +
                   " groups of nodes: name the group that these are the nodes of");
  }
  const std::string name = group.value_or(lists_.begin()->first);
  if (!lists_.contains(name) || (group && group->empty())) {
    return refusal("there is no group " + detail::quoted(name) +
                   ": a process keeps the groups that it began with");
  }
  std::map<std::string, Nodes> lists = lists_;
  lists[name] = std::move(nodes);
  Options options = this->options();
  options.nodes.clear();
  if (name.empty()) {
    options.nodes = lists.begin()->second;
  } else {
    options.groups = lists;
  }
  Result<std::vector<Cluster>> clusters = clusters_of(std::move(options));
  if (!clusters) return clusters.error();
  auto found = std::ranges::find(*clusters, name, &Cluster::group);
  const auto next = std::make_shared<const Cluster>(std::move(*found));
  for (const auto& runtime : runtimes_) {
    if (runtime->cluster().group != name) continue;
    if (Result<void> room = check_room(runtime->nodes(), *next); !room) return room;
  }
  lists_ = std::move(lists);
  for (const auto& runtime : runtimes_) {
    if (runtime->cluster().group == name) runtime->post(new NewNodes(next));
  }
  return {};
}

void Router::async_close(detail::Handler<> handler) const {
  if (runtimes_.size() == 1) return runtimes_.front()->async_close(std::move(handler));
  struct Rest {
    std::atomic<std::size_t> count{0};
    detail::Handler<> handler;
  };
  const auto rest = std::make_shared<Rest>();
  rest->count = runtimes_.size();
  rest->handler = std::move(handler);
  const auto runtimes = runtimes_;  // the last handler may destroy this Router
  for (const auto& runtime : runtimes) {
    runtime->async_close([rest] {
      if (rest->count.fetch_sub(1, std::memory_order_acq_rel) == 1 && rest->handler)
        rest->handler();
    });
  }
}

void Router::close() {
  if (forked()) return;
  if (any().on_any_loop()) return async_close({});
  std::binary_semaphore closed(0);
  async_close([&closed] { closed.release(); });
  closed.acquire();
  const std::lock_guard<std::mutex> lock(joining_);
  for (std::thread& thread : threads_) {
    // A thread cannot join itself: a close handler may destroy the coordinator.
    if (thread.joinable() && thread.get_id() != std::this_thread::get_id()) thread.join();
  }
}

void Router::abandon() {
  if (forked()) {
    // The threads and loops are not in this process, so their objects are leaked unchanged.
    new std::shared_ptr<Router>(shared_from_this());
    return;
  }
  has_threads_ ? close() : async_close({});
}

}  // namespace quorumlock::detail
