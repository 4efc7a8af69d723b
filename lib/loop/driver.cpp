#include "loop/driver.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

#include "config/label.hpp"
#include "loop/runtime.hpp"
#include "verbs/keys.hpp"
#include "verbs/rights.hpp"

namespace quorumlock::detail {
namespace {

/// An operator's look reads the list of a node's clients, which has some 350 bytes for each.
constexpr std::size_t largest_client_list = std::size_t{64} << 20;

/// Usually enough reads for all that a kernel buffers for a socket. The limit makes sure that a
/// node that sends without end can be overdue, too.
constexpr int most_reads = 256;

/// The end waits no longer for a node that is being resolved or connected to. Nothing was sent to
/// it yet, so it most likely has nothing to release.
constexpr core::Duration reached_by = std::chrono::milliseconds(100);

std::vector<redis::Link::Config> link_configs(const Cluster& cluster) {
  const Options& options = cluster.options;
  std::vector<redis::Link::Config> links;
  for (std::size_t i = 0; i < cluster.endpoints.size(); ++i) {
    links.push_back({cluster.endpoints[i],
                     options.node_timeout,
                     options.connect_timeout,
                     {.named = named_terms(options),
                      .drift_factor = options.drift_factor,
                      .groups = cluster.mark,
                      .changes_groups = cluster.purpose == Cluster::Purpose::to_enrol,
                      .only_looks = cluster.purpose == Cluster::Purpose::to_look,
                      .node = cluster.members[i]},
                     cluster.purpose == Cluster::Purpose::to_look ? largest_client_list
                                                                  : redis::ReplyReader::max_bytes,
                     redis::needs_of_every_lock(options.key_prefix, options.fencing)});
  }
  return links;
}

Session::Config session_config(const Cluster& cluster) {
  const Options& options = cluster.options;
  Session::Config config;
  config.links = link_configs(cluster);
  config.engine = {
      .nodes = cluster.size(),
      .drift_factor = options.drift_factor,
      .retry_delay = options.retry.delay,
      .retry_jitter = options.retry.jitter,
      .fencing = options.fencing,
      .max_ttl = max_ttl_of(options),
      .fencing_memory = memory_of(options),
      .label = label_of(options),
      .classes = {options.resource_classes, redis::kind_prefixes, options.key_prefix.size()},
      .send_within = options.node_timeout};
  return config;
}

}  // namespace

Driver::Driver(Runtime& runtime, uv_loop_t* loop, bool own_loop)
    : runtime_(runtime),
      session_(session_config(cluster()), random_, wall_),
      events_(cluster().options, session_, nodes_, wall_),
      calls_(runtime, session_, nodes_, later_, events_),
      inquiries_(*this, session_, later_),
      sockets_(cluster().options, session_, loop, open_,
               [this] {
                 turn_.stirred = true;
                 work();
               }),
      watchers_{uv::Timer(loop, open_, [this] { on_timer(); }),
                uv::Poll(loop, open_, runtime.inbox().fd(), [this](int, int) { on_inbox(); }),
                uv::BeforePoll(loop, open_, [this] { before_poll(); }),
                {}},
      own_loop_(own_loop) {
  watchers_.inbox.wait_for(UV_READABLE);
  if (!own_loop_) watchers_.after_poll.emplace(loop, open_, [this] { after_poll(); });
  carry_out(Session::ListChanged{});
  session_.start(Clock::now());
  keep_alive();
}

const Cluster& Driver::cluster() const {
  return runtime_.cluster();
}

// The turn of the loop.

void Driver::run_now(Task* task) {
  turn_.stirred = turn_.undone = true;
  take_inbox();
  task->run(*this);
  if (!turn_.working) keep_alive();  // the loop might otherwise end before its next turn
}

void Driver::on_inbox() {
  turn_.stirred = true;
  runtime_.turning();
  take_inbox();
  work();
}

void Driver::take_inbox() {
  if (runtime_.inbox().empty()) return;
  runtime_.inbox().take([this](Task* task) { task->run(*this); });
}

void Driver::on_timer() {
  turn_.stirred = true;
  runtime_.turning();
  core::Time now = Clock::now();
  for (int reads = 0; reads < most_reads && sockets_.read_overdue(now); ++reads) now = Clock::now();
  session_.advance(now);
  sockets_.advance(now);
  events_.advance(now);
  inquiries_.advance(now);
  work();
}

void Driver::before_poll() {
  runtime_.turning();
  // Tasks that were posted while an attached loop did not run come first.
  if (!own_loop_ && !ending_.stopped && !runtime_.inbox().empty()) on_inbox();
  // Many coordinators may share one loop: a turn without input for this one must cost nothing.
  if (!std::exchange(turn_.stirred, false) && !ending_.begun) return;
  if (turn_.undone) work();
  if (runtime_.is_one_of_several()) keep_stats();
  if (ending_.stopped) return;
  // Programs that live shortly may be the only ones that bring a node back: each finishes what it
  // has begun.
  const bool done =
      session_.engine().unanswered() == 0 && !sockets_.asks() && !session_.is_at_work();
  if (ending_.begun && (done || Clock::now() >= ending_.by)) return finish_closing();
  sockets_.flush();
  watchers_.timer.arm(next_due());
  keep_alive();
}

void Driver::keep_stats() {
  core::Engine& engine = session_.engine();
  Stats stats = engine.stats(Clock::now());
  for (const int node : session_.nodes()) {
    // The engine goes on asking a node that refuses writes, or this user.
    NodeStats& its = stats.nodes[static_cast<std::size_t>(node)];
    its.counts = its.counts && link(node).reason() == Vote::pending;
  }
  runtime_.keep_stats(std::move(stats), engine.waiting_since());
}

Stats Driver::stats() {
  keep_stats();
  return runtime_.last_stats();
}

core::Time Driver::next_due() const {
  return std::min({session_.deadline(), sockets_.deadline(), events_.deadline(),
                   inquiries_.deadline(), ending_.by});
}

void Driver::catch_up(detail::Handler<core::Time> then) {
  on_timer();
  later([this, then = std::move(then)]() mutable { then(next_due()); });
}

/// The loop ends after this if nothing keeps it alive, so check for work that came in this turn.
void Driver::after_poll() {
  if (!turn_.kept_alive) keep_alive();
}

/// Passes the session's outputs to the sockets and the handlers until nothing is left to do. The
/// requests of those handlers are done here, too, and not inside them.
void Driver::work() {
  if (turn_.working) return;
  turn_.working = true;
  for (;;) {
    // Each output gets a fresh time, which is later than all input that was read.
    const core::Time now = Clock::now();
    if (std::optional<Session::Output> output = session_.next(now)) {
      if (!ending_.stopped) events_.take(now, *output);
      std::visit(
          [this](const auto& what) {
            if constexpr (requires { calls_.carry_out(what); }) {
              calls_.carry_out(what);
            } else if constexpr (requires { inquiries_.carry_out(what); }) {
              inquiries_.carry_out(what);
            } else if constexpr (requires { sockets_.carry_out(what); }) {
              sockets_.carry_out(what);
            } else if constexpr (!is_only_an_event<std::remove_cvref_t<decltype(what)>>) {
              carry_out(what);
            }
          },
          *output);
    } else if (calls_.recycle()) {
      continue;
    } else if (!later_.empty()) {
      later_.run();
    } else if (events_.has_any()) {
      events_.deliver(now);
    } else {
      break;
    }
  }
  turn_.working = turn_.undone = false;
}

/// Keeps the loop alive while this coordinator has work.
void Driver::keep_alive() {
  const bool busy = own_loop_ || session_.engine().busy() || session_.engine().has_outputs() ||
                    inquiries_.has_any() || !later_.empty() || ending_.begun ||
                    !runtime_.inbox().empty();
  if (busy != turn_.kept_alive) watchers_.timer.keep_alive(turn_.kept_alive = busy);
}

// The session's outputs.

void Driver::carry_out(const Session::ListChanged& changed) {
  sockets_.follow(changed);
  nodes_ = {};
  for (const int node : session_.nodes()) nodes_.add(node, link(node).endpoint().name());
  runtime_.keep_nodes(nodes_);
}

void Driver::set_nodes(const Cluster& next) {
  if (!ending_.begun) session_.set_nodes(Clock::now(), link_configs(next));
}

// The nodes.

void Driver::saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time) {
  session_.engine().on_clock(now, node, asked, node_time);
}

void Driver::vouch() {
  session_.vouch(Clock::now());
}

void Driver::look_again() {
  session_.look_again(Clock::now());
}

void Driver::ask_facts() {
  session_.ask_facts(Clock::now());
}

void Driver::doubt(int node) {
  session_.doubt(Clock::now(), node);
}

// The end.

void Driver::close(detail::Handler<> handler) {
  if (handler) ending_.handlers.push_back(std::move(handler));
  if (ending_.begun) return;
  ending_.begun = true;
  const core::Time now = Clock::now();
  ending_.by = now + cluster().options.node_timeout;
  calls_.close(now);
  inquiries_.close();
  sockets_.stop_asking();
  session_.hurry(now + reached_by);
}

void Driver::finish_closing() {
  ending_.stopped = true;
  sockets_.close();
  session_.stop(Clock::now());
  work();
  keep_stats();
  runtime_.inbox().close([this](Task* task) {
    // Tasks that came in time are answered here, on the loop.
    task->run(*this);
  });
  work();
  events_.end(Clock::now());
  open_.when_none([this] { runtime_.loop_ended(std::move(ending_.handlers)); });
  watchers_.timer.close();
  watchers_.inbox.close();
  watchers_.before_poll.close();
  watchers_.after_poll.reset();
}

}  // namespace quorumlock::detail
