#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/engine.hpp"
#include "redis/command.hpp"
#include "redis/endpoint.hpp"
#include "redis/enrolment.hpp"
#include "redis/native_acquire.hpp"
#include "redis/reply.hpp"
#include "redis/ring.hpp"
#include "redis/wire.hpp"

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
class Link final : public Wire {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration node_timeout{};
    core::Duration connect_timeout{};
    Enrolment::Config enrolment = {};
    bool wakes = true;  ///< a release wakes those who wait: see Options::wake
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket and what is still to be written. No on_closed is to follow.
  struct Disconnect {};
  /// The server has said who it is (run_id()): admit() it, or bar() it.
  struct Greeted {};
  /// Its fencing counters are to be repaired: repaired() or repair_failed() follows.
  struct Repair {};
  /// The engine's view of this link has changed.
  struct Changed {
    core::LinkState state;
    Vote reason;  ///< the vote of this node while it takes nothing
  };
  /// The final answer to the oldest command. `reply` is null where there is none; it holds until
  /// the next call.
  struct Answer {
    Answer(const core::Tag& to, const core::Answer& what, const Reply* from)
        : tag(to), answer(what), reply(from) {}
    /// As the command's kind has it, in its place: a copy would wait for what was just written.
    Answer(const core::Tag& to, const Reply& from) noexcept;
    /// Likewise, where there was more than this reply.
    Answer(const core::Tag& to, const core::Answer& what, const Reply& from)
        : tag(to), answer(what), reply(&from) {}
    core::Tag tag;
    core::Answer answer;
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
  using Event = std::variant<Connect, Disconnect, Greeted, Repair, Changed, Answer, Late, Note>;

  Link(Config config, core::Random& random);

  // Inputs.
  void start(core::Time now);
  void on_open() override;
  void on_closed(core::Time now, std::string_view why) override;
  void on_bytes(std::string_view bytes) override;
  void admit(core::Time now);
  /// Its votes are not to be counted while this connection lasts.
  void bar(core::Time now, Vote reason, std::string why);
  void repaired(core::Time now, std::uint64_t floor, std::int64_t since);
  void repair_failed(core::Time now);
  /// Its enrolment has turned out to be another than it was.
  void doubt(core::Time now);
  /// A node that does not vote is looked at now, and not in a while.
  void look_again(core::Time now);
  /// Appends a command; the words of an enrolled node's own are put behind where it says them.
  /// Where the link takes none such the answer is the reason why.
  void send(core::Time now, const core::Tag& tag, std::string_view bytes);
  void advance(core::Time now);
  /// Gives up the connection for good.
  void stop(core::Time now);

  // Outputs.
  /// Null where there is nothing; it holds until the next call.
  Event* next(core::Time now);
  /// Whether next() has something to give that is no reply.
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  /// Likewise, and of the bytes that have come in some are unread.
  [[nodiscard]] bool may_have_more() const { return has_events() || reader_.has_unread(); }
  [[nodiscard]] core::Time deadline() const;
  /// What is to be written; the driver writes it from the front and calls wrote().
  [[nodiscard]] std::string_view output() const override {
    return std::string_view(output_).substr(written_);
  }
  void wrote(std::size_t bytes) override;

  [[nodiscard]] const Endpoint& endpoint() const override { return config_.endpoint; }
  /// Why the node was refused or lost, or its last error reply; empty if there was none.
  [[nodiscard]] std::string trouble(core::Time now) const;
  [[nodiscard]] const std::string& run_id() const { return facts_.run_id; }
  [[nodiscard]] bool greeted() const { return state_ != State::greeting && connected(); }
  [[nodiscard]] const ServerFacts& facts() const { return facts_; }
  [[nodiscard]] const Enrolment& enrolment() const { return enrolment_; }
  /// The enrolment of the server at the other end, as we would have it.
  /// Does anybody else vouch for our groups?
  void vouch(bool yes) { enrolment_.vouch(yes); }
  [[nodiscard]] std::string record_wanted() const { return enrolment_.wanted().to_string(); }
  [[nodiscard]] core::LinkState state() const { return announced_; }
  /// The vote of this node while it takes nothing.
  [[nodiscard]] Vote reason() const { return reason_; }
  /// How it is to be told a release that only_deletes().
  [[nodiscard]] Deletion deletion() const { return deletion_; }
  /// As INFO told it last; empty where it did not.
  [[nodiscard]] const std::string& role() const { return role_; }
  [[nodiscard]] const std::string& mode() const { return mode_; }

 private:
  enum class State {
    stopped,
    opening,    ///< the socket is being opened
    greeting,   ///< who are you: logging in, asking for run id and role, loading the scripts
    greeted,    ///< waiting to be admitted
    killing,    ///< the old connection to the same server is being killed
    enrolling,  ///< finding out whether its votes count
    up,
    resting,  ///< not connected, until the next try
  };
  /// The greeting's commands, in the order of their replies.
  enum class Greeting {
    auth,
    select,
    client_id,
    role,
    durability,
    script,
    delex,
    delifeq,
    record,
    server,
    kill,
    enrolment,
  };

  struct Pending {
    Pending() = default;
    Pending(const core::Tag& asked, core::Time when, bool ours = false)
        : tag(asked), sent(when), own(ours) {}
    core::Tag tag;
    core::Time sent{};
    bool own = false;  ///< the enrolment's: nobody else's to know
  };

  void open(core::Time now);
  void greet();
  void on_greeting(core::Time now, const Reply& reply);
  void on_durability(const Reply& reply);
  void enrol(core::Time now);
  void follow_enrolment(core::Time now);
  void come_up(core::Time now);
  void write(const core::Tag& tag, std::string_view bytes);
  [[nodiscard]] bool votes() const;
  void announce();
  void fail(core::Time now, Vote reason, std::string why);
  void note(std::string sentence);
  [[nodiscard]] bool connected() const {
    return state_ != State::stopped && state_ != State::opening && state_ != State::resting;
  }

  Config config_;
  core::Random& random_;
  State state_ = State::stopped;
  core::LinkState announced_ = core::LinkState::connecting;
  Vote reason_ = Vote::unreachable;  ///< of the last announcement
  Vote down_reason_ = Vote::unreachable;
  Vote barred_ = Vote::pending;     ///< why its votes are not to be counted; pending: they are
  bool ever_up_or_failed_ = false;  ///< the first connection is decided
  bool stopping_ = false;           ///< stop() was called: its end is no news

  ReplyReader reader_;
  NativeAcquireReplies native_;  ///< those that have come of the oldest command's
  std::string output_;
  std::size_t written_ = 0;
  std::vector<std::string> waiting_;  ///< commands that wait for the first connection: pending_'s
  Ring<Pending> pending_;             ///< unanswered, the oldest first
  std::size_t late_ = 0;              ///< how many of them, from the front, were reported late
  core::Time stalled_since_{};
  core::Time next_batch_{};  ///< of late ones, while there are some
  Ring<Event> events_;
  Event event_;  ///< what next() has given

  Ring<Greeting> greetings_;
  core::Time give_up_opening_ = core::never;
  core::Time next_try_ = core::never;
  core::Duration back_off_{};

  Enrolment enrolment_;
  std::string own_words_;  ///< of an enrolled node: its record and floor, as RESP
  ServerFacts facts_;      ///< of the server greeted last
  std::optional<std::string> record_;
  bool append_only_ = false, always_ = false, known_durability_ = false;
  std::string role_, mode_;
  Deletion deletion_ = Deletion::script;
  std::string run_before_;       ///< which run of the server the connection before was to
  std::int64_t client_id_ = -1;  ///< of our connection
  std::int64_t orphan_id_ = -1;  ///< of a connection lost with unanswered commands
  std::string trouble_;
};

}  // namespace quorumlock::redis
