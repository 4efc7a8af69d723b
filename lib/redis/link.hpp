#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/engine.hpp"
#include "redis/command.hpp"
#include "redis/endpoint.hpp"
#include "redis/reply.hpp"
#include "redis/ring.hpp"

namespace quorumlock::redis {

/// The connection to one node, as a state machine: bytes and time in, bytes and events out.
///
/// Commands go out in order on one connection and their answers come back in that order. A command
/// that is overdue is reported late at once and answered finally when its reply comes, or when the
/// connection is given up. While the first connection is being made, commands wait in it; later a
/// node that is not connected is said to be down and takes nothing.
///
/// No command is ever sent twice by the link: a connection that breaks answers all that was on it
/// with Vote::disconnected. Bytes already written may still be executed by the node after that
/// (closing cancels nothing), so on the next connection to the same run of the server the old
/// connection is killed before anything else is sent.
class Link {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration node_timeout{};
    core::Duration connect_timeout{};
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket and what is still to be written. No on_closed is to follow.
  struct Disconnect {};
  /// The engine's view of this link has changed.
  struct Changed {
    core::LinkState state;
    Vote reason;  ///< the vote of this node while it takes nothing
  };
  /// The final answer to the oldest command. `reply` is null where there is none; it holds until
  /// the next call.
  struct Answer {
    core::Tag tag;
    Vote vote;
    const Reply* reply;
  };
  /// This command is overdue: no vote. Its Answer still follows.
  struct Late {
    core::Tag tag;
  };
  /// One sentence for the log.
  struct Note {
    std::string sentence;
  };
  using Event = std::variant<Connect, Disconnect, Changed, Answer, Late, Note>;

  Link(Config config, core::Random& random);

  // Inputs.
  void start(core::Time now);
  void on_open();
  void on_closed(core::Time now, std::string_view why);
  void on_bytes(std::string_view bytes);
  /// Appends a command. Where the link takes none the answer is Vote::unreachable.
  void send(core::Time now, const core::Tag& tag, std::string_view bytes);
  void advance(core::Time now);
  /// Gives up the connection for good.
  void stop(core::Time now);

  // Outputs.
  std::optional<Event> next(core::Time now);
  /// Whether next() has something to give before more bytes come in.
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  [[nodiscard]] core::Time deadline() const;
  /// What is to be written; the driver writes it from the front and calls wrote().
  [[nodiscard]] std::string_view output() const {
    return std::string_view(output_).substr(written_);
  }
  void wrote(std::size_t bytes);

  [[nodiscard]] const Endpoint& endpoint() const { return config_.endpoint; }
  /// Why the node was refused or lost, or its last error reply; empty if there was none.
  [[nodiscard]] const std::string& last_trouble() const { return trouble_; }

 private:
  enum class State {
    stopped,
    opening,   ///< the socket is being opened
    greeting,  ///< who are you: logging in, asking for run id and role, loading the scripts
    killing,   ///< the old connection to the same server is being killed
    up,
    resting,  ///< not connected, until the next try
  };
  /// The greeting's commands, in the order of their replies.
  enum class Greeting { auth, select, client_id, server, role, script, kill };

  struct Pending {
    core::Tag tag;
    core::Time sent;
  };

  void open(core::Time now);
  void greet();
  void on_greeting(core::Time now, const Reply& reply);
  void finish_greeting(core::Time now);
  void come_up(core::Time now);
  void fail(core::Time now, Vote reason, std::string why);
  void set_state(core::LinkState state, Vote reason);
  void note(std::string sentence);
  [[nodiscard]] bool connected() const {
    return state_ == State::greeting || state_ == State::killing || state_ == State::up;
  }

  Config config_;
  core::Random& random_;
  State state_ = State::stopped;
  Vote reason_ = Vote::unreachable;
  bool ever_up_or_failed_ = false;  ///< the first connection is decided
  bool stopping_ = false;           ///< stop() was called: its end is no news

  ReplyReader reader_;
  std::string output_;
  std::size_t written_ = 0;
  std::string waiting_;    ///< commands that wait for the first connection
  Ring<Pending> pending_;  ///< unanswered, the oldest first
  std::size_t late_ = 0;   ///< how many of them, from the front, were reported late
  core::Time stalled_since_{};
  core::Time next_batch_{};        ///< of late ones, while there are some
  Ring<Event> events_;

  Ring<Greeting> greetings_;
  core::Time give_up_opening_ = core::never;
  core::Time next_try_ = core::never;
  core::Duration back_off_{};

  std::string run_id_;  ///< of the server last greeted; empty if it would not say
  std::string greeted_run_id_;
  std::int64_t client_id_ = -1;  ///< of our connection
  std::int64_t orphan_id_ = -1;  ///< of a connection lost with unanswered commands
  std::string trouble_;
};

}  // namespace quorumlock::redis
