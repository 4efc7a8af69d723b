#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lock/engine.hpp"
#include "members/enrolment.hpp"
#include "verbs/dispatch.hpp"
#include "wire/attempts.hpp"
#include "wire/endpoint.hpp"
#include "wire/greeting.hpp"
#include "wire/orphan.hpp"
#include "wire/pipeline.hpp"
#include "wire/reply.hpp"
#include "wire/resp_wire.hpp"
#include "wire/ring.hpp"

namespace quorumlock::redis {

/// The connection to one node, as a state machine: bytes and time in, bytes and events out.
///
/// Commands go out in order on one connection and their answers come back in that order. A command
/// that is overdue is reported late at once and answered finally when its reply comes, or when the
/// connection is given up. While the first connection is being made, commands wait in it; later a
/// node that is not connected is reported down and takes nothing.
///
/// The link takes each input to the machine that knows about it: Attempts (when to connect),
/// Greeting (which server it is), Orphan (the connection before), Enrolment (whether the node's
/// votes count) and Pipeline (what is unanswered). It decides itself what is reported to the engine
/// and to its user.
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
class Link final : public RespWire {
 public:
  struct Config {
    Endpoint endpoint;
    core::Duration node_timeout{};
    core::Duration connect_timeout{};
    Enrolment::Config enrolment = {};
    std::size_t largest_reply = ReplyReader::max_bytes;
    std::vector<std::string> needs = {};  ///< see Greeting::Config
  };

  /// Open a socket to the endpoint; on_open or on_closed follows.
  struct Connect {};
  /// Drop the socket and all unwritten bytes; on_closed must not follow.
  struct Disconnect {};
  /// The server has identified itself (greeting()): admit() it, or bar() it.
  struct Greeted {};
  /// Repair the node's fencing counters; repaired() or repair_failed() follows.
  struct Repair {};
  /// The node's candidate was looked at: hears_time() of the other nodes.
  struct AskTimes {};
  /// The node's enrolment has changed: follow() what that means for all nodes.
  struct Enrolled {};
  /// The engine's view of this link has changed.
  struct Changed {
    core::LinkState state;
    Vote reason;  ///< see Link::reason()
  };
  /// The final answer to the oldest command. `reply` is null if there is none, and otherwise valid
  /// until the next call.
  struct Answered {
    Answered(const core::Tag& to, const core::Answer& what, const Reply* from)
        : tag(to), answer(what), reply(from) {}
    /// Decodes `from` according to the command's kind, in place: a copy would stall on store
    /// forwarding.
    Answered(const core::Tag& to, const Reply& from) noexcept
        : tag(to), answer(answer_of(to.kind, from)), reply(&from) {}
    /// Takes an answer that is decoded already, with its reply.
    Answered(const core::Tag& to, const core::Answer& what, const Reply& from)
        : tag(to), answer(what), reply(&from) {}
    core::Tag tag;
    core::Answer answer;
    const Reply* reply;
  };
  /// This command is overdue and counts as no vote. Its Answered still follows.
  struct Late {
    core::Tag tag;
  };
  /// The node is still down, as last reported, and the last attempt to connect was news (Attempts).
  struct StillDown {};
  /// A node that is up has begun to refuse all writes, or takes them again: see reason(). The
  /// engine goes on asking it, since a server without memory still renews and releases.
  struct Writes {};
  /// Something is wrong with the node that its state does not show. A clause about it, for an
  /// event.
  struct Note {
    std::string why;
  };
  using Event = std::variant<Connect, Disconnect, Greeted, Enrolled, Repair, AskTimes, Changed,
                             Answered, Late, StillDown, Writes, Note>;

  Link(Config config, core::Random& random);

  // Inputs.
  void start(core::Time now);
  void on_open() override;
  void on_closed(core::Time now, std::string_view why) override;
  void on_handshake() override;
  void on_handshake_failed(core::Time now, std::string_view why) override;
  /// Logs in again on the connection that is there, if there is one.
  void log_in(core::Time now, const Login& login) override;
  void on_no_login(core::Time now, std::string_view why) override;
  void admit(core::Time now);
  /// The node's votes must not be counted while this connection lasts.
  void bar(core::Time now, Vote reason, std::string why);
  /// The work that Repair asked for is done, or has failed: see Candidacy.
  void repaired(core::Time now, const Membership& as, std::uint64_t floor, std::int64_t since);
  void repair_failed(core::Time now, bool refused, const std::string& why);
  /// See Candidacy.
  void hears_time(core::Time now, std::string_view nonce, const std::string& name,
                  std::int64_t time);
  /// The node's enrolment turned out to be different from what the link knows.
  void doubt(core::Time now);
  /// If the node does not vote, looks at it now instead of later.
  void look_again(core::Time now);
  /// Asks a connected server again what may have changed, and whether it takes writes; the answers
  /// come before those to what is sent after this.
  void ask_facts(core::Time now);
  /// Takes what the other nodes say.
  void follow(core::Time now, Ruling ruling);
  /// Appends a command, followed by an enrolled node's own words if says_enrolment() is true for
  /// it. If the link does not take such a command now, the answer is the reason.
  void send(core::Time now, const core::Tag& tag, std::string_view bytes);
  void advance(core::Time now);
  /// Adds a Note: a clause about the node.
  void note(std::string why) { events_.push(Note{std::move(why)}); }
  /// The client ends: an attempt to reach the node that takes longer than this is given up, and
  /// what waits for it is answered.
  void hurry(core::Time by) {
    if (state_ == State::opening) attempts_.hurry(by);
  }
  /// Gives up the connection for good.
  void stop(core::Time now);

  // Outputs.
  /// The next event, valid until the next call; null if there is none.
  Event* next(core::Time now);
  /// Whether next() has an event that needs no reply to be read.
  [[nodiscard]] bool has_events() const { return !events_.empty(); }
  /// Whether next() has such an event, or received bytes to read.
  [[nodiscard]] bool may_have_more() const { return has_events() || reader().has_unread(); }
  [[nodiscard]] core::Time deadline() const;

  /// Why the node was refused or lost, or its last error reply; empty if there was none.
  [[nodiscard]] std::string trouble(core::Time now) const;
  /// The known facts about the server.
  [[nodiscard]] const Greeting& greeting() const { return greeting_; }
  /// What the node says of itself. Its name is left to the user, who knows it from earlier
  /// connections.
  [[nodiscard]] NodeRecord record() const;
  [[nodiscard]] const Enrolment& enrolment() const { return enrolment_; }
  [[nodiscard]] const Attempts& attempts() const { return attempts_; }
  /// Whether the other side has closed the connection before this one while nothing was asked on
  /// it, and no attempt has failed since. Servers and devices on the path end idle connections:
  /// that is no trouble yet.
  [[nodiscard]] bool ended_idle() const { return ended_idle_; }
  [[nodiscard]] core::LinkState state() const { return announced_.state; }
  /// The vote of this node while it takes nothing, or refuses every write; else pending.
  [[nodiscard]] Vote reason() const {
    return refuses_writes() ? greeting_.writes_refused()->vote : announced_.reason;
  }

 private:
  enum class State {
    stopped,
    opening,        ///< the socket is being opened
    shaking_hands,  ///< the socket is open, but not secure yet
    greeting,       ///< logging in, asking for run id and role, loading the scripts
    greeted,        ///< waiting for admit() or bar()
    killing,        ///< the old connection to the same server is being killed
    enrolling,      ///< finding out whether the node's votes count
    up,
    resting,  ///< not connected; waiting for the next try
  };

  void open(core::Time now);
  void on_early_reply(core::Time now, const Reply& reply);
  void on_own_reply(core::Time now, const core::Tag& tag, const Reply& reply);
  void on_enrolments_reply(core::Time now, const Reply& reply);
  void wait_for_orphan(core::Time now, const std::string& why);
  void enrol(core::Time now);
  void update(core::Time now);
  void come_up(core::Time now);
  void send_held(core::Time now);
  void log_in_again(core::Time now);
  bool announce();
  /// Whether the node would vote, now or after its quarantine, if it took writes.
  [[nodiscard]] bool refuses_writes() const {
    const bool would_vote =
        announced_.state == core::LinkState::up || announced_.reason == Vote::quarantined;
    return would_vote && greeting_.writes_refused();
  }
  void ask_facts_soon(core::Time now);
  void fail(core::Time now, Vote reason, std::string why);

  State state_ = State::stopped;
  Attempts attempts_;
  Greeting greeting_;
  Orphan orphan_;
  Enrolment enrolment_;
  Pipeline pipeline_;
  bool ended_idle_ = false;
  core::Time asked_facts_{};            ///< when ask_facts() last asked
  core::Time ask_again_ = core::never;  ///< when ask_facts() is due: the node refuses writes
  bool asks_early_ = false;  ///< the enrolment's command has no answer, and the link is not up yet
  Changed announced_{core::LinkState::connecting, Vote::unreachable};
  Vote down_reason_ = Vote::unreachable;
  std::string trouble_;
  std::string last_error_;  ///< the server's words at the last error of this greeting
  Ring<Event> events_;
  Event event_;  ///< the last result of next()
};

}  // namespace quorumlock::redis
