#include "loop/driver.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "config/label.hpp"
#include "loop/inquiry.hpp"
#include "loop/runtime.hpp"
#include "redis/keys.hpp"
#include "redis/words.hpp"

namespace quorumlock::detail {
namespace {

/// An operator's look reads the list of a node's clients, which has some 350 bytes for each.
constexpr std::size_t largest_client_list = std::size_t{64} << 20;

/// Usually enough reads for all that a kernel buffers for a socket. The limit makes sure that a
/// node that sends without end can be overdue, too.
constexpr int most_reads = 256;

std::vector<redis::Link::Config> link_configs(const Cluster& cluster) {
  const Options& options = cluster.options;
  std::vector<redis::Link::Config> links;
  for (std::size_t i = 0; i < cluster.endpoints.size(); ++i) {
    links.push_back({cluster.endpoints[i],
                     options.node_timeout,
                     options.connect_timeout,
                     {.max_ttl = options.max_ttl,
                      .drift_factor = options.drift_factor,
                      .policy = options.quarantine,
                      .fencing_memory = options.fencing_memory,
                      .groups = cluster.mark,
                      .changes_terms = cluster.purpose == Cluster::Purpose::to_enrol,
                      .only_looks = cluster.purpose == Cluster::Purpose::to_look,
                      .node = cluster.members[i]},
                     options.wake,
                     cluster.purpose == Cluster::Purpose::to_look ? largest_client_list
                                                                  : redis::ReplyReader::max_bytes});
  }
  return links;
}

Session::Config session_config(const Cluster& cluster) {
  const Options& options = cluster.options;
  Session::Config config;
  config.links = link_configs(cluster);
  config.engine = {.nodes = cluster.size(),
                   .drift_factor = options.drift_factor,
                   .retry_delay = options.retry.delay,
                   .retry_jitter = options.retry.jitter,
                   .fencing = options.fencing,
                   .max_ttl = options.max_ttl,
                   .fencing_memory = options.fencing_memory,
                   .label = label_of(options),
                   .send_within = options.node_timeout};
  return config;
}

}  // namespace

Driver::Driver(Runtime& runtime, uv_loop_t* loop, bool own_loop)
    : runtime_(runtime),
      session_(session_config(cluster()), random_, wall_),
      engine_(session_.engine()),
      events_(cluster().options, session_, nodes_, wall_),
      calls_(runtime, session_, nodes_, later_, events_),
      logins_(loop, open_, *this, cluster().options.credentials),
      timer_(loop, open_, [this] { on_timer(); }),
      inbox_poll_(loop, open_, runtime.inbox().fd(), [this](int, int) { on_inbox(); }),
      before_poll_(loop, open_, [this] { before_poll(); }),
      loop_(loop),
      own_loop_(own_loop) {
  inbox_poll_.wait_for(UV_READABLE);
  if (!own_loop_) after_poll_.emplace(loop, open_, [this] { after_poll(); });
  carry_out(Session::ListChanged{});
  session_.start(Clock::now());
  keep_alive();
}

const Cluster& Driver::cluster() const {
  return runtime_.cluster();
}

// The turn of the loop.

void Driver::run_now(Task* task) {
  stirred_ = undone_ = true;
  take_inbox();
  task->run(*this);
  if (!working_) keep_alive();  // the loop might otherwise end before its next turn
}

void Driver::on_inbox() {
  stirred_ = true;
  runtime_.turning();
  take_inbox();
  work();
}

void Driver::take_inbox() {
  if (runtime_.inbox().empty()) return;
  runtime_.inbox().take([this](Task* task) { task->run(*this); });
}

void Driver::on_timer() {
  stirred_ = true;
  runtime_.turning();
  core::Time now = Clock::now();
  for (int reads = 0; reads < most_reads && read_overdue(now); ++reads) now = Clock::now();
  session_.advance(now);
  logins_.advance(now);
  events_.advance(now);
  while (const auto due = alarms_.pop_due(now)) inquiries_[inquiries_.at(*due)]->due(*this);
  work();
}

/// If the loop stood still, nodes are overdue whose answers lie unread: their sockets may come
/// after the timer in this turn, and a turn reads only a part of each. True if bytes came in.
bool Driver::read_overdue(core::Time now) {
  bool came = false;
  session_.each_wire_in_use([&](int wire) {
    const auto& node = wires_[static_cast<std::size_t>(wire)];
    if (node != nullptr && session_.is_due(wire, now) && node->read()) came = true;
  });
  return came;
}

void Driver::on_events(int wire) {
  stirred_ = true;
  session_.touched(wire);
  work();
}

void Driver::before_poll() {
  runtime_.turning();
  // Tasks that were posted while an attached loop did not run come first.
  if (!own_loop_ && !stopped_ && !runtime_.inbox().empty()) on_inbox();
  // Many coordinators may share one loop: a turn without input for this one must cost nothing.
  if (!std::exchange(stirred_, false) && !closing_) return;
  if (undone_) work();
  if (runtime_.is_one_of_several()) runtime_.keep_stats(engine_.stats());
  if (stopped_) return;
  if (closing_ && (engine_.unanswered() == 0 || Clock::now() >= close_by_)) return finish_closing();
  session_.each_wire_in_use([this](int wire) {
    if (const auto& node = wires_[static_cast<std::size_t>(wire)]) node->flush();
  });
  timer_.arm(next_due());
  keep_alive();
}

core::Time Driver::next_due() const {
  return std::min(
      {session_.deadline(), logins_.deadline(), events_.deadline(), alarms_.next(), close_by_});
}

void Driver::catch_up(detail::Handler<core::Time> then) {
  on_timer();
  later([this, then = std::move(then)]() mutable { then(next_due()); });
}

/// The loop ends after this if nothing keeps it alive, so check for work that came in this turn.
void Driver::after_poll() {
  if (!kept_alive_) keep_alive();
}

/// Passes the session's outputs to the sockets and the handlers until nothing is left to do. The
/// requests of those handlers are done here, too, and not inside them.
void Driver::work() {
  if (working_) return;
  working_ = true;
  for (;;) {
    // Each output gets a fresh time, which is later than all input that was read.
    const core::Time now = Clock::now();
    if (std::optional<Session::Output> output = session_.next(now)) {
      if (!stopped_) events_.take(now, *output);
      std::visit(
          [this](const auto& what) {
            if constexpr (requires { calls_.carry_out(what); }) {
              calls_.carry_out(what);
            } else if constexpr (!std::is_same_v<decltype(what), const Session::NodeChanged&>) {
              carry_out(what);  // a NodeChanged is an event, and nothing else
            }
          },
          *output);
    } else if (calls_.recycle()) {
      continue;
    } else if (!later_.empty()) {
      later_.run();
    } else if (events_.has_any()) {
      events_.deliver();
    } else {
      break;
    }
  }
  working_ = undone_ = false;
}

/// Keeps the loop alive while this coordinator has work.
void Driver::keep_alive() {
  const bool busy = own_loop_ || engine_.busy() || engine_.has_outputs() || inquiries_.used() > 0 ||
                    !later_.empty() || closing_ || !runtime_.inbox().empty();
  if (busy != kept_alive_) timer_.keep_alive(kept_alive_ = busy);
}

// The session's outputs.

void Driver::carry_out(const Session::Connect& connect) {
  const int node = node_of(connect.wire);
  const redis::Link& its = link(node);
  const bool refused = its.reason() == Vote::unauthorized;
  if (logins_.may_connect(Clock::now(), connect.wire, node, its.endpoint(), refused)) {
    on_ready(connect.wire);
  }
}

void Driver::carry_out(const Session::Disconnect& disconnect) {
  logins_.forget_wire(disconnect.wire);
  if (const auto& node = wires_[static_cast<std::size_t>(disconnect.wire)]) node->disconnect();
}

void Driver::carry_out(const Session::Note& note) {
  on_note(note.sentence);
}

void Driver::carry_out(const Session::Answered& answered) {
  if (Inquiry** inquiry = inquiries_.find(answered.tag.claim))
    (*inquiry)->answered(*this, answered);
}

void Driver::carry_out(const Session::Heard& heard) {
  inquiries_.for_each([&](core::SlotId id) { inquiries_[id]->heard(*this, heard.key); });
}

void Driver::carry_out(const Session::ListChanged& changed) {
  for (const int wire : changed.wires) {
    wires_[static_cast<std::size_t>(wire)].reset();
    logins_.forget_node(node_of(wire));
  }
  logins_.keep(session_.nodes());
  nodes_ = {};
  for (const int node : session_.nodes()) nodes_.add(node, link(node).endpoint().name());
  runtime_.keep_nodes(nodes_);
}

void Driver::set_nodes(const Cluster& next) {
  if (!closing_) session_.set_nodes(Clock::now(), link_configs(next));
}

// The questions of inquiries, and the nodes.

void Driver::begin(Inquiry& inquiry) {
  if (closing_) {
    return later_.add([&inquiry] { inquiry.dismiss(); });
  }
  inquiry.id = inquiries_.take();
  inquiries_[inquiry.id] = &inquiry;
  inquiry.start(*this);
}

void Driver::on_ready(int wire) {
  std::unique_ptr<Node>& node = wires_[static_cast<std::size_t>(wire)];
  if (node == nullptr) {
    node = std::make_unique<Node>(wire, session_.wire(wire), contexts_, loop_, open_, *this);
  }
  node->connect();
}

void Driver::on_login(int node, const redis::Login& login) {
  for (const int wire : {node, subscriber_of(node)}) {
    session_.wire(wire).log_in(Clock::now(), login);
  }
  on_events(node);
}

void Driver::on_no_login(int wire, const std::string& why) {
  session_.wire(wire).on_no_login(Clock::now(), why);
  on_events(wire);
}

void Driver::on_note(const std::string& sentence) {
  if (const auto& log = cluster().options.log) log(sentence);
}

void Driver::ask(Inquiry& inquiry, int node, std::uint16_t question,
                 std::span<const std::string_view> words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  session_.ask(Clock::now(), node, {inquiry.id, question, core::CommandKind::query}, bytes_);
}

void Driver::end(Inquiry& inquiry) {
  alarms_.clear(inquiry.id.index);
  inquiries_.give_back(inquiry.id);
}

void Driver::wake_at(Inquiry& inquiry, core::Time when) {
  alarms_.set(inquiry.id.index, when);
}

void Driver::listen_for_leaders(const std::string& key, bool on) {
  session_.messages().listen(Clock::now(), std::string(redis::led_prefix) + key, on);
}

void Driver::check_messages() {
  session_.messages().ping(Clock::now());
}

void Driver::saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time) {
  engine_.on_clock(now, node, asked, node_time);
}

void Driver::vouch() {
  session_.vouch(Clock::now());
}

void Driver::look_again() {
  session_.look_again(Clock::now());
}

// The end.

void Driver::close(detail::Handler<> handler) {
  if (handler) on_closed_.push_back(std::move(handler));
  if (closing_) return;
  closing_ = true;
  const core::Time now = Clock::now();
  close_by_ = now + cluster().options.node_timeout;
  calls_.close(now);
  inquiries_.for_each([this](core::SlotId id) {
    Inquiry* inquiry = inquiries_[id];
    end(*inquiry);
    inquiry->dismiss();
  });
}

void Driver::finish_closing() {
  stopped_ = true;
  logins_.close();
  session_.stop(Clock::now());
  work();
  runtime_.keep_stats(engine_.stats());
  runtime_.inbox().close([this](Task* task) {
    // Tasks that came in time are answered here, on the loop.
    task->run(*this);
  });
  work();
  events_.end();
  open_.when_none([this] { runtime_.loop_ended(std::move(on_closed_)); });
  timer_.close();
  inbox_poll_.close();
  before_poll_.close();
  after_poll_.reset();
}

}  // namespace quorumlock::detail
