#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/types.hpp"
#include "redis/reply.hpp"
#include "redis/ring.hpp"
#include "redis/wire.hpp"

namespace quorumlock::redis {

/// The second connection to a node, on which it sends messages: as a state machine. Opened when
/// something is first to be listened to, and then again whenever it is lost.
///
/// Nothing depends on it: a message that does not come makes a waiter slower by one poll. So its
/// troubles are no news but for a line in the log, and whether it still lives is asked only with
/// those polls (ping()).
class Subscriber final : public Wire {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration connect_timeout{};
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket. No on_closed is to follow.
  struct Disconnect {};
  /// From now on messages to this channel come in.
  struct Listening {
    std::string channel;
  };
  struct Message {
    std::string channel;
    std::string text;
  };
  /// One sentence for the log.
  struct Note {
    std::string sentence;
  };
  using Event = std::variant<Connect, Disconnect, Listening, Message, Note>;

  Subscriber(Config config, core::Random& random);

  // Inputs. Each call of listen() for a channel wants one of leave().
  void listen(core::Time now, const std::string& channel);
  void leave(const std::string& channel);
  /// Does it still live? One that has not answered such a question in connect_timeout is given up.
  void ping(core::Time now);
  void on_open() override;
  void on_closed(core::Time now, std::string_view why) override;
  void on_bytes(std::string_view bytes) override;
  void advance(core::Time now);
  /// Gives up the connection for good.
  void stop();

  // Outputs.
  std::optional<Event> next(core::Time now);
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  [[nodiscard]] core::Time deadline() const;
  [[nodiscard]] std::string_view output() const override {
    return std::string_view(output_).substr(written_);
  }
  void wrote(std::size_t bytes) override;
  [[nodiscard]] const Endpoint& endpoint() const override { return config_.endpoint; }

 private:
  enum class State {
    idle,     ///< nothing to listen to yet
    opening,  ///< the socket is being opened, and the first channel confirmed
    up,
    resting,  ///< not connected, until the next try
    stopped,
  };

  void open(core::Time now);
  void fail(core::Time now, std::string_view why);
  void on_reply(core::Time now, const Reply& reply);
  [[nodiscard]] bool connected() const { return greeted_ || state_ == State::up; }

  Config config_;
  core::Random& random_;
  State state_ = State::idle;
  bool greeted_ = false;                 ///< the socket is open, and we have said who we are
  bool logging_in_ = false;              ///< the answer to AUTH is out
  bool pinged_ = false;                  ///< that to a ping
  std::map<std::string, int> channels_;  ///< and how often they were asked for
  ReplyReader reader_;
  std::string output_;
  std::size_t written_ = 0;
  core::Time pinged_at_{};
  Ring<Event> events_;
  core::Time give_up_opening_ = core::never;
  core::Time next_try_ = core::never;
  core::Duration back_off_{};
};

}  // namespace quorumlock::redis
