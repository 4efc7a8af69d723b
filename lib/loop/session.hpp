#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/engine.hpp"
#include "loop/links.hpp"
#include "loop/messages.hpp"
#include "loop/sender.hpp"
#include "members/members.hpp"
#include "members/repair.hpp"
#include "members/witnesses.hpp"

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
/// It takes each input to the machine that knows about it: Links (the connections and the numbers
/// of the nodes), Sender (the engine's commands), Messages (the second connections), Members (the
/// list of nodes), Repair and Witnesses (the clocks by which nodes that forgot wait).
class Session {
 public:
  struct Config {
    core::Engine::Config engine;
    std::vector<redis::Link::Config> links;
  };

  using Connect = OpenWire;
  using Disconnect = CloseWire;
  using News = detail::News;
  using Heard = Messages::Heard;
  using NodeChanged = detail::NodeChanged;
  /// The answer to a command of CommandKind::query or once; `reply` is null if there is none, and
  /// otherwise valid until the next call.
  struct Answered {
    int node;
    core::Tag tag;
    Vote vote;
    const redis::Reply* reply;
  };
  /// The list of nodes has changed: see nodes(). These wires are connections to other nodes now.
  struct ListChanged {
    std::vector<int> wires;
  };
  using Output =
      std::variant<ListChanged, Connect, Disconnect, Answered, News, Heard, NodeChanged,
                   core::ClockJumped, core::ClockStood, core::Acquired, core::Refused,
                   core::Renewed, core::AtRisk, core::Ended, core::Extended, core::Released>;

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
  /// Calls fn(int wire) for each node's link, then, since the first listen(), for each subscriber.
  template <class F>
  void each_wire_in_use(F&& fn) const {
    for (const int node : nodes()) fn(node);
    if (!messages_.listens()) return;
    for (const int node : nodes()) fn(subscriber_of(node));
  }
  redis::Wire& wire(int number) { return links_.wire(number); }
  /// Notes that this wire may have events.
  void touched(int wire) { links_.touched(wire); }
  /// Sends a command to one node; Answered follows if it is of CommandKind::query or once.
  void ask(core::Time now, int node, const core::Tag& tag, std::string_view bytes) {
    sender_.send(now, node, tag, bytes);
  }
  Messages& messages() { return messages_; }
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
  /// Why this node does not vote, in the node's words or ours.
  [[nodiscard]] std::string trouble(core::Time now, int node) const;
  /// Looks at the nodes that do not vote, now instead of later.
  void look_again(core::Time now);
  /// Asks all nodes again for what may have changed: see Link.
  void ask_facts(core::Time now);
  /// Whether a node was ever enrolled, as far as we or a client that is enrolling it now have seen:
  /// then clients may hold locks.
  [[nodiscard]] bool was_enrolled() const;
  /// Whether every node votes on our terms, or all locks that it granted on other terms have
  /// expired.
  [[nodiscard]] bool ripe() const;
  /// Whether some node is about to be brought back by this client, as far as it can be now.
  [[nodiscard]] bool is_at_work() const;
  [[nodiscard]] bool is_in_list(int node) const;
  /// See Members.
  [[nodiscard]] const std::string& name_of(int node) const { return members_.name_of(node); }
  /// The operator vouches for nodes without a record.
  void vouch(core::Time now) { members_.vouch(now); }
  /// This node's enrolment turned out to be different from what its link knows.
  void doubt(core::Time now, int node);
  /// See Link.
  void hurry(core::Time by) {
    for (const int node : nodes()) link(node).hurry(by);
  }
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
  /// By how much this node's clock last exceeded the bound, and until when its votes do not count.
  [[nodiscard]] const core::ClockJumped& clock_jump(int node) const {
    return clock_jumps_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] const Repair& repair() const { return repair_; }
  [[nodiscard]] const redis::Electorate& electorate() const { return members_.electorate(); }

 private:
  std::optional<Output> on_event(core::Time now, int node, redis::Link::Event& event);
  std::optional<Output> on_answer(core::Time now, int node, const redis::Link::Answered& answer);
  void on_late(core::Time now, int node, const core::Tag& tag);
  void on_greeted(core::Time now, int node);
  void carry_out(core::Time now, const core::Output& output, std::optional<Output>& mine);
  void next_of_links(core::Time now, std::optional<Output>& mine);

  core::Engine engine_;
  Links links_;
  Sender sender_;
  Messages messages_;
  Repair repair_;
  Witnesses witnesses_;
  std::array<core::ClockJumped, core::max_nodes> clock_jumps_{};
  Members members_;
  std::optional<ListChanged> list_changed_;
  std::vector<core::Place> places_;  ///< the places in the answer being read
};

}  // namespace quorumlock::detail
