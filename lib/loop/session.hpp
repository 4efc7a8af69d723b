#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/engine.hpp"
#include "loop/links.hpp"
#include "loop/members.hpp"
#include "loop/notes.hpp"
#include "loop/repair.hpp"
#include "redis/dispatch.hpp"
#include "redis/link.hpp"
#include "redis/subscriber.hpp"

namespace quorumlock::detail {

/// The core of a coordinator, without users' objects and sockets: the engine, a link to each node,
/// and the repair of nodes that forgot. A session is a pure state machine: time and bytes in, bytes
/// and outputs out. The Driver runs it on libuv, the simulator in a simulated world.
///
/// A session has two wires to each node: the link, whose number is the node's, and its subscriber,
/// opened when first needed. Requests go to engine(), and input from a socket to wire(), followed
/// by touched(); then the caller calls next() until it returns nothing, writes the output() of each
/// wire, and calls advance() at deadline().
///
/// The list of nodes can change: Links has their numbers, and Members decides when.
class Session {
 public:
  struct Config {
    core::Engine::Config engine;
    std::vector<redis::Link::Config> links;
  };

  /// Open this wire's socket, or close it.
  struct Connect {
    int wire;
  };
  struct Disconnect {
    int wire;
  };
  /// The answer to a command of CommandKind::query; `reply` is null if there is none, and otherwise
  /// valid until the next call.
  struct Answered {
    int node;
    core::Tag tag;
    Vote vote;
    const redis::Reply* reply;
  };
  /// One sentence for the log.
  struct Note {
    std::string sentence;
  };
  /// A message about the leader of this lock has come, or may have been lost.
  struct Heard {
    std::string key;
  };
  /// The list of nodes has changed: see nodes(). These wires are connections to other nodes now.
  struct ListChanged {
    std::vector<int> wires;
  };
  using Output = std::variant<ListChanged, Connect, Disconnect, Answered, Note, Heard,
                              core::Acquired, core::Refused, core::Renewed, core::AtRisk,
                              core::Ended, core::Extended, core::Released>;

  Session(Config config, core::Random& random, core::WallClock& wall);

  /// Starts to connect to all nodes.
  void start(core::Time now);
  core::Engine& engine() { return engine_; }
  [[nodiscard]] const core::Engine& engine() const { return engine_; }
  redis::Link& link(int node) { return links_.link(node); }
  [[nodiscard]] const redis::Link& link(int node) const { return links_.link(node); }
  /// The numbers of the nodes of the list, in its order.
  [[nodiscard]] const std::vector<int>& nodes() const { return links_.nodes(); }
  /// The number of nodes in the list.
  [[nodiscard]] int size() const { return static_cast<int>(nodes().size()); }
  [[nodiscard]] static int subscriber_of(int node) { return node + core::max_nodes; }
  [[nodiscard]] static bool is_link(int wire) { return wire < core::max_nodes; }
  [[nodiscard]] static int node_of(int wire) { return wire % core::max_nodes; }
  /// Calls fn(int wire) for each node's link, then, since the first listen(), for each subscriber.
  template <class F>
  void each_wire_in_use(F&& fn) const {
    for (const int node : nodes()) fn(node);
    if (!listens_) return;
    for (const int node : nodes()) fn(subscriber_of(node));
  }
  redis::Wire& wire(int number) {
    if (is_link(number)) return link(number);
    return subscriber(node_of(number));
  }
  /// Notes that this wire may have events.
  void touched(int wire) {
    if (is_link(wire)) {
      talkative_.add(wire);
    } else {
      told_.add(node_of(wire));
    }
  }
  /// Sends a command to one node; Answered follows if it is of CommandKind::query.
  void ask(core::Time now, int node, const core::Tag& tag, std::string_view bytes);
  /// Starts or stops listening to messages on this channel.
  void listen(core::Time now, const std::string& channel, bool on);
  /// Checks the subscribers' connections.
  void ping(core::Time now);
  /// Moves to these nodes as soon as they accept that list: see Members::set_nodes().
  void set_nodes(core::Time now, std::vector<redis::Link::Config> list) {
    members_.set_nodes(now, std::move(list));
  }
  /// Works with these nodes from now on. Returns false, and does nothing, if a new one would need
  /// the number of a node that has not answered everything yet.
  bool take_list(core::Time now, const std::vector<redis::Link::Config>& list);
  /// See Links.
  [[nodiscard]] int number_of(const redis::Link::Config& config) const {
    return links_.number_of(config);
  }
  /// Looks at nodes that do not vote now instead of later.
  void look_again(core::Time now);
  /// A node was enrolled, or a client that saw that enrols it now: so clients may hold locks.
  [[nodiscard]] bool was_enrolled() const;
  /// Every node votes on our terms, or all locks that it granted on other terms have expired.
  [[nodiscard]] bool ripe() const;
  /// The operator vouches for nodes without a record.
  void vouch(core::Time now) { members_.vouch(now); }
  /// This node's enrolment turned out to be different from what its link knows.
  void doubt(core::Time now, int node);
  /// Gives up all connections.
  void stop(core::Time now);
  void advance(core::Time now);

  std::optional<Output> next(core::Time now);
  [[nodiscard]] core::Time deadline() const;
  /// Whether this wire's deadline has passed, so that advance() would act on it.
  [[nodiscard]] bool is_due(int wire, core::Time now) const {
    const int node = node_of(wire);
    return (is_link(wire) ? link(node).deadline() : links_.subscriber(node).deadline()) <= now;
  }
  /// By how much the node's clock last exceeded the bound, and until when its votes do not count.
  struct Jump {
    core::Duration size{};
    core::Time until{};
  };
  [[nodiscard]] const Jump& jump(int node) const { return jumps_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const Repair& repair() const { return repair_; }
  [[nodiscard]] const redis::Electorate& electorate() const { return members_.electorate(); }
  /// Engine::Config::fencing_memory in ms.
  [[nodiscard]] std::string_view counter_life() const { return counter_life_; }

 private:
  redis::Subscriber& subscriber(int node) { return links_.subscriber(node); }
  std::optional<Output> on_event(core::Time now, int node, redis::Link::Event& event);
  std::optional<Output> on_answer(core::Time now, int node, const redis::Link::Answer& answer);
  std::optional<Output> on_message(core::Time now, int node, redis::Subscriber::Event& event);
  void on_greeted(core::Time now, int node);
  void on_repair(core::Time now, int node, const core::Tag& tag, const redis::Reply* reply);
  void send(core::Time now, const core::Send& send);
  void send_batch(core::Time now);
  void put(core::Time now, const core::Send& send);
  void put(core::Time now, int node, const core::Tag& tag);
  void put_renewal(core::Time now, int node, const core::Tag& tag, std::int64_t node_time_us);
  [[nodiscard]] bool all_run_scripts(const core::Send& send) const;
  void begin_told(int node, const core::Tag& tag, bool late, const core::Answer& said,
                  const redis::Reply* reply);
  bool tell_next(core::Time now);
  void send(core::Time now, const core::SendEntries& sending);
  void listen(core::Time now, const core::Listen& listen);
  void ask_clocks(core::Time now, int node);
  Note note_of(const core::ClockJumped& jumped);
  Note note_of(const core::ClockStood& stood);

  core::WallClock& wall_;
  core::Engine engine_;
  Links links_;
  bool listens_ = false;  ///< listen() was called
  Repair repair_;
  Notes notes_;
  std::array<Jump, core::max_nodes> jumps_;
  std::string counter_life_;    ///< in ms
  redis::Surroundings around_;  ///< of the command being sent
  Members members_;
  std::optional<ListChanged> list_changed_;
  core::NodeSet talkative_;  ///< nodes whose link may have events
  core::NodeSet told_;       ///< nodes whose subscriber may have events
  std::vector<core::Place> places_;
  core::Time next_ping_{};
  std::string bytes_;  // of the command being sent

  // Commands that can be a Batch go out as one when the engine asks for something else or all input
  // has been processed. A node's answers to it are handed to the engine one by one.
  struct Sent {
    std::vector<core::Tag> tags;
    int unanswered = 0;
  };
  struct Telling {
    core::SlotId batch;
    int node = 0;
    bool late = false;
    std::size_t next = 0;
    redis::BatchAnswers answers;
  };
  redis::Batch batch_;
  core::Slots<Sent> batches_;
  Telling telling_;
};

}  // namespace quorumlock::detail
