#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/engine.hpp"
#include "redis/dispatch.hpp"
#include "redis/endpoint.hpp"
#include "redis/enrolment.hpp"
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
/// If a vote is refused because the node's record has changed, the record is read again. Commands
/// that come meanwhile wait for it, so that a change of the record costs a vote a round trip.
///
/// If the first command after an idle time is overdue, the connection is taken for forgotten by
/// something on the path and made anew at once; if that one is silent, too, the node is stalled.
///
/// No command is ever sent twice by the link: a connection that breaks answers all that was on it
/// with Vote::disconnected. Bytes already written may still be executed by the node after that
/// (closing cancels nothing), so on the next connection to the same run of the server the old
/// connection is killed before anything else is sent. If the node refuses that, the link waits for
/// node_timeout instead: nearly all that is on its way arrives meanwhile. What arrives even later
/// can leave a key that nobody holds until its ttl is over, and never a second holder.
class Link final : public Wire {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration node_timeout{};
    core::Duration connect_timeout{};
    Enrolment::Config enrolment = {};
    bool wakes = true;  ///< a release wakes waiters: see Options::wake
    std::size_t largest_reply = ReplyReader::max_bytes;
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket and all unwritten bytes; on_closed must not follow.
  struct Disconnect {};
  /// The server has identified itself (run_id()): admit() it, or bar() it.
  struct Greeted {};
  /// Repair the node's fencing counters; repaired() or repair_failed() follows.
  struct Repair {};
  /// The node's enrolment has changed: follow() what that means for all nodes.
  struct Enrolled {};
  /// Do this with the other nodes; errand_done() follows a look_up or a note.
  struct Errand {
    Enrolment::Errand what;
  };
  /// The engine's view of this link has changed.
  struct Changed {
    core::LinkState state;
    Vote reason;  ///< the vote of this node while it takes nothing
  };
  /// The final answer to the oldest command. `reply` is null if there is none, and otherwise valid
  /// until the next call.
  struct Answer {
    Answer(const core::Tag& to, const core::Answer& what, const Reply* from)
        : tag(to), answer(what), reply(from) {}
    /// Decodes `from` according to the command's kind, in place: a copy would stall on store
    /// forwarding.
    Answer(const core::Tag& to, const Reply& from) noexcept;
    /// Takes an answer that is decoded already, with its reply.
    Answer(const core::Tag& to, const core::Answer& what, const Reply& from)
        : tag(to), answer(what), reply(&from) {}
    core::Tag tag;
    core::Answer answer;
    const Reply* reply;
  };
  /// This command is overdue and counts as no vote. Its Answer still follows.
  struct Late {
    core::Tag tag;
  };
  /// One sentence for the log.
  struct Note {
    std::string sentence;
  };
  using Event = std::variant<Connect, Disconnect, Greeted, Enrolled, Repair, Errand, Changed,
                             Answer, Late, Note>;

  Link(Config config, core::Random& random);

  // Inputs.
  void start(core::Time now);
  void on_open() override;
  void on_closed(core::Time now, std::string_view why) override;
  void on_handshake() override { shaking_hands_ = true; }
  void on_handshake_failed(core::Time now, std::string_view why) override;
  void on_bytes(std::string_view bytes) override;
  /// Logs in again on the connection that is there, if there is one.
  void log_in(core::Time now, const Login& login) override;
  void on_no_login(core::Time now, std::string_view why) override;
  void admit(core::Time now);
  /// The node's votes must not be counted while this connection lasts.
  void bar(core::Time now, Vote reason, std::string why);
  void repaired(core::Time now, std::uint64_t floor, std::int64_t since, const Membership& as);
  void repair_failed(core::Time now);
  void errand_done(core::Time now, Enrolment::ErrandEnd end);
  /// The node's enrolment turned out to be different from what the link knows.
  void doubt(core::Time now);
  /// If the node does not vote, looks at it now instead of later.
  void look_again(core::Time now);
  /// Appends a command, followed by an enrolled node's own words if says_enrolment(). If the link
  /// does not take such a command now, the answer is the reason.
  void send(core::Time now, const core::Tag& tag, std::string_view bytes);
  void advance(core::Time now);
  /// Gives up the connection for good.
  void stop(core::Time now);

  // Outputs.
  /// The next event, valid until the next call; null if there is none.
  Event* next(core::Time now);
  /// Whether next() has an event that needs no reply to be read.
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  /// Whether next() has such an event, or received bytes to read.
  [[nodiscard]] bool may_have_more() const { return has_events() || reader_.has_unread(); }
  [[nodiscard]] core::Time deadline() const;
  /// The bytes to be written; the driver writes them from the front and calls wrote().
  [[nodiscard]] std::string_view output() const override {
    return std::string_view(output_).substr(written_);
  }
  void wrote(std::size_t bytes) override;

  [[nodiscard]] const Endpoint& endpoint() const override { return config_.endpoint; }
  [[nodiscard]] const Login& login() const { return login_; }
  /// Why the node was refused or lost, or its last error reply; empty if there was none.
  [[nodiscard]] std::string trouble(core::Time now) const;
  [[nodiscard]] const std::string& run_id() const { return facts_.run_id; }
  [[nodiscard]] bool greeted() const { return state_ != State::greeting && connected(); }
  [[nodiscard]] const ServerFacts& facts() const { return facts_; }
  [[nodiscard]] const Enrolment& enrolment() const { return enrolment_; }
  [[nodiscard]] bool barred() const { return barred_ != Vote::pending; }
  /// The node's record may have changed and is being read: until then the last one stands.
  [[nodiscard]] bool is_reading_again() const { return reading_again_; }
  /// The first connection is being made.
  [[nodiscard]] bool is_first() const { return !ever_up_or_failed_; }
  /// Takes what the other nodes say. `refusal` is why this node does not vote for our list although
  /// it is enrolled, and `vote` is its vote then; it is empty if the node votes.
  void follow(core::Time now, Enrolment::Others others, const std::string& refusal = {},
              Vote vote = Vote::nodes_differ);
  /// The same while it is not known yet whether the node votes for our list: commands wait.
  void follow_undecided(core::Time now, Enrolment::Others others);
  [[nodiscard]] core::LinkState state() const { return announced_; }
  /// The vote of this node while it takes nothing.
  [[nodiscard]] Vote reason() const { return reason_; }
  /// The command for a release that only_deletes().
  [[nodiscard]] Deletion deletion() const { return deletion_; }
  /// From the last reply to INFO; empty if that did not contain it.
  [[nodiscard]] const std::string& role() const { return role_; }
  [[nodiscard]] const std::string& mode() const { return mode_; }

 private:
  enum class State {
    stopped,
    opening,    ///< the socket is being opened
    greeting,   ///< logging in, asking for run id and role, loading the scripts
    greeted,    ///< waiting for admit() or bar()
    killing,    ///< the old connection to the same server is being killed
    enrolling,  ///< finding out whether the node's votes count
    up,
    resting,  ///< not connected; waiting for the next try
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
    bool own = false;  ///< sent by the link itself; its answer is not reported
  };

  void open(core::Time now);
  void greet();
  void log_in_again(core::Time now);
  void on_logged_in_again(const Reply& reply);
  [[nodiscard]] std::string said(const Reply& reply) const;
  void on_greeting(core::Time now, const Reply& reply);
  void on_durability(const Reply& reply);
  void on_replication(const Reply& reply);
  void ask_facts(core::Time now);
  void on_fact(core::Time now, const core::Tag& tag, const Reply& reply);
  void conclude_facts();
  void on_killed(core::Time now, const Reply& reply);
  void go_on_later(core::Time now, const std::string& why);
  void enrol(core::Time now);
  void follow_enrolment(core::Time now);
  void come_up(core::Time now);
  void write(const core::Tag& tag, std::string_view bytes);
  [[nodiscard]] bool votes() const;
  void announce();
  void end_reading(core::Time now);
  [[nodiscard]] bool may_be_forgotten() const;
  void fail(core::Time now, Vote reason, std::string why);
  void note(std::string sentence);
  void note_failure(core::Time now, const std::string& why);
  [[nodiscard]] bool connected() const {
    return state_ != State::stopped && state_ != State::opening && state_ != State::resting;
  }

  Config config_;
  core::Random& random_;
  State state_ = State::stopped;
  core::LinkState announced_ = core::LinkState::connecting;
  Vote reason_ = Vote::unreachable;  ///< of the last announcement
  Vote down_reason_ = Vote::unreachable;
  Vote barred_ = Vote::pending;     ///< why the node's votes are not counted; pending: they are
  bool ever_up_or_failed_ = false;  ///< the first connection has come up or failed
  bool shaking_hands_ = false;      ///< the socket is open, but not secure yet
  bool silent_ = true;              ///< nothing has come on this connection
  bool stopping_ = false;           ///< stop() was called: the end of the connection is not logged

  Login login_;
  bool login_is_new_ = false;     ///< the connection that is there has another one
  bool login_in_output_ = false;  ///< output_ has a password in it

  ReplyReader reader_;
  std::string output_;
  std::size_t written_ = 0;
  std::vector<std::string> waiting_;  ///< bytes of the last of pending_, which are to be sent yet
  Ring<Pending> pending_;             ///< unanswered commands, the oldest first
  std::size_t late_ = 0;              ///< how many of pending_, from the front, were reported late
  core::Time stalled_since_{};
  core::Time heard_{};       ///< when the last answer came in, or the connection came up
  core::Time next_batch_{};  ///< when more commands are reported late, while late_ > 0
  Ring<Event> events_;
  Event event_;  ///< the last result of next()

  Ring<Greeting> greetings_;
  core::Time give_up_opening_ = core::never;
  core::Time next_try_ = core::never;
  core::Duration back_off_{};
  int failures_ = 0;  ///< failed attempts to connect since the link was up
  std::string failure_noted_;
  core::Time next_failure_note_{};

  Enrolment enrolment_;
  bool reading_again_ = false;  ///< the record may have changed and is being read: commands wait
  bool judged_ = false;         ///< follow() has been called since the node was enrolled
  std::string refusal_;         ///< see follow()
  Vote refusing_ = Vote::nodes_differ;
  std::string own_words_;  ///< of an enrolled node: its record and floor, as RESP
  ServerFacts facts_;      ///< of the server greeted last
  Enrolment::Texts texts_;
  bool append_only_ = false, always_ = false, known_durability_ = false;
  bool alone_ = false;  ///< INFO reports that no replica is attached
  std::string role_, mode_;
  Deletion deletion_ = Deletion::script;
  std::string run_before_;       ///< the run id of the server on the previous connection
  std::int64_t client_id_ = -1;  ///< of our connection
  static constexpr std::int64_t unknown_client = 0;
  std::int64_t orphan_id_ = -1;  ///< of a connection lost with unanswered commands
  /// When to go on without having killed that connection.
  core::Time go_on_ = core::never;
  std::string trouble_;
};

}  // namespace quorumlock::redis
