#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lock/types.hpp"
#include "wire/attempts.hpp"
#include "wire/reply.hpp"
#include "wire/resp_wire.hpp"
#include "wire/ring.hpp"

namespace quorumlock::redis {

/// The second connection to a node, on which the node sends messages, as a state machine. The
/// connection is opened at the first listen(), and again whenever it is lost.
///
/// Nothing depends on it: a lost message delays a waiter by one poll. So a failure is only an
/// event, and the connection is checked only along with those polls (ping()). If the first command
/// after an idle time has no answer within node_timeout, the connection is made anew at once, like
/// that of a Link.
class Subscriber final : public RespWire {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration connect_timeout{};
    core::Duration node_timeout{};
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket; on_closed must not follow.
  struct Disconnect {};
  /// From now on messages to this channel come in.
  struct Listening {
    std::string channel;
  };
  struct Message {
    std::string channel;
    std::string text;
  };
  /// The connection is lost. A clause about the node, for an event.
  struct Note {
    std::string why;
  };
  using Event = std::variant<Connect, Disconnect, Listening, Message, Note>;

  Subscriber(Config config, core::Random& random);

  // Inputs. Each call of listen() for a channel must be matched by one of leave().
  void listen(core::Time now, const std::string& channel);
  void leave(const std::string& channel);
  /// Listens to all channels that the other one listens to.
  void listen_like(core::Time now, const Subscriber& other);
  /// Checks the connection: it is given up if an earlier ping has had no answer for
  /// connect_timeout.
  void ping(core::Time now);
  void on_open() override;
  void on_closed(core::Time now, std::string_view why) override;
  void on_handshake() override {}
  void on_handshake_failed(core::Time now, std::string_view why) override { on_closed(now, why); }
  /// Takes effect at the next connection: a server that ends a login closes the connection.
  void log_in(core::Time now, const Login& login) override;
  void on_no_login(core::Time now, std::string_view why) override { on_closed(now, why); }
  void advance(core::Time now);
  /// Gives up the connection for good.
  void stop();

  // Outputs.
  std::optional<Event> next(core::Time now);
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  [[nodiscard]] core::Time deadline() const;

 private:
  enum class State {
    idle,     ///< nothing to listen to yet
    opening,  ///< the socket is being opened, and the first channel confirmed
    up,
    resting,  ///< not connected; waiting for the next try
    stopped,
  };

  void open(core::Time now);
  void fail(core::Time now, std::string_view why);
  void on_reply(core::Time now, const Reply& reply);
  void expect_answer(core::Time now);

  core::Duration connect_timeout_, node_timeout_;
  Login login_;
  Attempts attempts_;
  State state_ = State::idle;
  bool logging_in_ = false;              ///< AUTH is unanswered
  bool pinged_ = false;                  ///< a ping is unanswered
  std::map<std::string, int> channels_;  ///< each with its number of listen() calls
  core::Time pinged_at_{};
  core::Time heard_{};                   ///< when the last reply or message came in
  core::Time answer_due_ = core::never;  ///< deadline of the first command after an idle time
  Ring<Event> events_;
};

}  // namespace quorumlock::redis
