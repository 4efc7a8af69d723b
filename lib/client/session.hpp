#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/repair.hpp"
#include "core/engine.hpp"
#include "redis/batch.hpp"
#include "redis/link.hpp"
#include "redis/subscriber.hpp"

namespace quorumlock::client {

/// All of a coordinator that is neither its users' nor its sockets': the engine, a link to each
/// node, and the repair of nodes that forgot. A pure state machine: time and bytes in, bytes and
/// outputs out. The Driver runs it on libuv, the simulator in a simulated world.
///
/// It has two wires to each node: number i < nodes() is the link to node i, number i + nodes() its
/// subscriber, opened when first needed. Requests go to engine(), what comes from a socket to
/// wire(), each followed by touched(); then next() is pulled until it gives nothing, output() of
/// each wire is written, and advance() is due at deadline().
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
  /// The answer to a command of CommandKind::query; `reply` is null where there is none, and holds
  /// until the next call.
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
  using Output =
      std::variant<Connect, Disconnect, Answered, Note, Heard, core::Acquired, core::Refused,
                   core::Renewed, core::AtRisk, core::Ended, core::Extended, core::Released>;

  Session(Config config, core::Random& random, core::WallClock& wall);

  /// Starts to connect to all nodes.
  void start(core::Time now);
  core::Engine& engine() { return engine_; }
  [[nodiscard]] const core::Engine& engine() const { return engine_; }
  redis::Link& link(int node) { return *links_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const redis::Link& link(int node) const {
    return *links_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] int nodes() const { return static_cast<int>(links_.size()); }
  [[nodiscard]] int wires() const { return 2 * nodes(); }
  /// Of these, without the subscribers' for as long as there was nothing to listen to.
  [[nodiscard]] int wires_in_use() const { return listens_ ? wires() : nodes(); }
  redis::Wire& wire(int number) {
    if (number < nodes()) return link(number);
    return *subscribers_[static_cast<std::size_t>(number - nodes())];
  }
  /// This wire may have events.
  void touched(int wire) {
    if (wire < nodes()) {
      talkative_.add(wire);
    } else {
      told_.add(wire - nodes());
    }
  }
  /// A command of CommandKind::query to one node; Answered follows.
  void ask(core::Time now, int node, const core::Tag& tag, std::string_view bytes);
  /// Messages of this channel are wanted, or no longer.
  void listen(core::Time now, const std::string& channel, bool on);
  /// Do the subscribers' connections still live?
  void ping(core::Time now);
  /// Nodes that do not vote are looked at now, and not in a while.
  void look_again(core::Time now);
  /// Every node votes on our terms, or all that it granted on others has run out.
  [[nodiscard]] bool ripe() const;
  /// The operator vouches for our groups.
  void vouch();
  /// This node's enrolment has turned out not to be what its link knows.
  void doubt(core::Time now, int node);
  /// Gives up all connections.
  void stop(core::Time now);
  void advance(core::Time now);

  std::optional<Output> next(core::Time now);
  [[nodiscard]] core::Time deadline() const;
  /// advance() would do something about this wire.
  [[nodiscard]] bool is_due(int wire, core::Time now) const {
    const auto node = static_cast<std::size_t>(wire % nodes());
    return (wire < nodes() ? links_[node]->deadline() : subscribers_[node]->deadline()) <= now;
  }
  /// By how much the node's clock was last found to be beyond the bound, and when that was.
  struct Jump {
    core::Duration size{};
    core::Time until{};
  };
  [[nodiscard]] const Jump& jump(int node) const { return jumps_[static_cast<std::size_t>(node)]; }

 private:
  std::optional<Output> on_event(core::Time now, int node, redis::Link::Event& event);
  std::optional<Output> on_answer(core::Time now, int node, const redis::Link::Answer& answer);
  std::optional<Output> on_message(core::Time now, int node, redis::Subscriber::Event& event);
  void on_greeted(core::Time now, int node);
  void pass_word_on();
  void send(core::Time now, const core::Send& send);
  void send_batch(core::Time now);
  void put(core::Time now, const core::Send& send);
  void put(core::Time now, int node, const core::Tag& tag);
  void take_back_counter(core::Time now, int node, core::ClaimId claim);
  [[nodiscard]] bool all_run_scripts(const core::Send& send) const;
  void begin_told(int node, const core::Tag& tag, bool late, const core::Answer& said,
                  const redis::Reply* reply);
  bool tell_next(core::Time now);
  void send(core::Time now, const core::SendEntries& sending);
  void listen(core::Time now, const core::Listen& listen);
  Note note_of(const core::ClockJumped& jumped);

  core::WallClock& wall_;
  core::Engine engine_;
  std::vector<std::unique_ptr<redis::Link>> links_;
  std::vector<std::unique_ptr<redis::Subscriber>> subscribers_;
  bool listens_ = false;  ///< or did once
  Repair repair_;
  std::vector<Jump> jumps_;
  core::Duration max_ttl_;
  bool vouched_ = false;
  core::NodeSet talkative_;  ///< of the links
  core::NodeSet told_;       ///< of the subscribers
  std::vector<core::Place> places_;
  core::Time next_ping_{};
  std::string bytes_;  // of the command being sent

  // What can be a Batch goes out as one command, once the engine asks for something else or has
  // heard all that there is to hear; what a node answers to it is told one after the other.
  struct Sent {
    std::vector<core::Tag> tags;
    int unanswered = 0;
  };
  struct Telling {
    core::SlotId batch;
    int node = 0;
    bool late = false;
    std::size_t next = 0;
    redis::BatchVotes votes;
  };
  redis::Batch batch_;
  core::Slots<Sent> batches_;
  Telling telling_;
};

}  // namespace quorumlock::client
