#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <quorumlock/status.hpp>

#include "lock/types.hpp"
#include "members/candidacy.hpp"
#include "members/enrolment_record.hpp"
#include "members/ruling.hpp"
#include "verbs/call.hpp"
#include "wire/reply.hpp"
#include "wire/server_facts.hpp"

namespace quorumlock::redis {

/// Whether the votes of one node count, as a state machine: the node has to have a record of its
/// present run, vote for our list of nodes, and must not be barred. A node without such a record
/// may have forgotten locks: its Candidacy says how it is enrolled.
///
/// Whether a node votes for our list depends on the other nodes: the user judges them with an
/// Electorate, and passes the result to follow().
///
/// If a vote is refused because the node's record has changed, the record is read again. The link
/// holds the commands that come meanwhile.
class Enrolment {
 public:
  using Config = Candidacy::Config;
  using Standing = NodeEnrolment::Standing;

  Enrolment(Config config, core::Random& random)
      : config_(std::move(config)), candidacy_(config_, facts_, ruling_, random) {}
  Enrolment(const Enrolment&) = delete;

  // Inputs. After each of these update() follows.

  /// A new connection is being greeted.
  void begin() { barred_ = Vote::pending; }
  /// The node must not vote while this connection lasts.
  void bar(Vote reason) { barred_ = reason; }
  /// The new connection may be used, and these texts were read on it.
  void greeted(core::Time now, ServerFacts facts, const RecordTexts& texts);
  void disconnected();
  /// A vote script has found a record other than ours. While it is read the last ruling stands.
  void doubt();
  /// The reply to the command that was taken last; the text of an error is that of words_of().
  void on_reply(core::Time now, const Reply& reply);
  void advance(core::Time now);
  /// See Candidacy.
  void repaired(const Membership& as, std::uint64_t floor, std::int64_t since) {
    candidacy_.repaired(as, floor, since);
  }
  void repair_failed(bool refused, const std::string& why) {
    candidacy_.repair_failed(refused, why);
  }
  void hears_time(core::Time now, std::string_view nonce, const std::string& name,
                  std::int64_t time) {
    candidacy_.hears_time(now, nonce, name, time);
  }
  /// Takes the facts that a connected node reports now.
  void look_at(core::Time now, ServerFacts facts);
  /// Takes what the records of all nodes mean for this one.
  void follow(core::Time now, Ruling ruling);
  /// Takes what has changed. Returns whether other nodes' links have to know it.
  bool update();
  /// Returns true once after the record has been read again: commands need not wait for it any
  /// more.
  bool end_reading();

  // Outputs: those of the candidacy, and these.

  bool take_command(core::Time now, std::string& out);
  bool take_check();
  bool take_repair() { return candidacy_.take_repair(); }
  bool take_times() { return candidacy_.take_times(); }
  [[nodiscard]] core::Time deadline() const {
    return is_enrolled() ? next_check_ : candidacy_.deadline();
  }
  [[nodiscard]] const Candidacy& candidacy() const { return candidacy_; }
  /// The wait of a node that is not enrolled.
  [[nodiscard]] const CandidateWait& wait() const { return candidacy_.wait(); }
  [[nodiscard]] Standing standing() const {
    return is_enrolled() ? Standing::enrolled : candidacy_.standing();
  }
  [[nodiscard]] bool is_enrolled() const { return state_ == State::enrolled; }
  [[nodiscard]] bool barred() const { return barred_ != Vote::pending; }
  /// Whether the record was asked for, and is still to come.
  [[nodiscard]] bool is_reading() const { return state_ == State::reading; }
  /// Whether the node's record may have changed and is being read.
  [[nodiscard]] bool is_reading_again() const { return reading_again_; }
  [[nodiscard]] bool votes() const { return !barred() && judged_ && refusal_.empty(); }
  /// Whether it is decided if the node votes.
  [[nodiscard]] bool is_known() const {
    return is_enrolled() ? judged_ : standing() != Standing::unknown;
  }
  /// The vote of a node that does not vote.
  [[nodiscard]] Vote vote() const;
  /// Why a node that is not barred does not vote.
  [[nodiscard]] std::string why(core::Time now) const;
  /// Whether the node may get a command of this kind now: only a node that votes is asked to.
  [[nodiscard]] bool allows(core::CommandKind kind) const {
    return votes() || (kind != core::CommandKind::set && !says_enrolment(kind));
  }
  /// Appends a command, followed by an enrolled node's own words if says_enrolment() is true for
  /// it.
  void append(std::string& out, core::CommandKind kind, std::string_view bytes) const {
    out += bytes;
    if (says_enrolment(kind)) out += own_words_;
  }
  /// Whether the node votes for our groups, or every lock that it granted before has expired.
  [[nodiscard]] bool ripe() const { return is_enrolled() || wait().ripe(); }
  // What an enrolled node's record says: its text, which vote commands carry, and see
  // EnrolmentRecord.
  [[nodiscard]] const std::string& record() const { return record_; }
  [[nodiscard]] const SharedMembership& membership() const { return membership_; }
  [[nodiscard]] std::uint64_t floor() const { return floor_; }
  [[nodiscard]] std::int64_t since() const { return since_; }
  /// Whether there is one group, or the node has a record of our groups.
  [[nodiscard]] bool knows_groups() const { return config_.groups.empty() || own_word_; }
  /// Whether this client has seen a node of this cluster enrolled, so clients may hold locks.
  [[nodiscard]] bool was_enrolled() const { return ruling_.ever; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Ruling& ruling() const { return ruling_; }

 private:
  enum class State {
    idle,       ///< not connected
    reading,    ///< the record was asked for
    enrolled,   ///< the node has a record of its run
    candidate,  ///< it has none that we accept: see Candidacy
  };

  void judge(core::Time now, const RecordTexts& texts);
  void take_over(core::Time now);
  void enrol_as(core::Time now, const std::string& text, const EnrolmentRecord& record,
                const Membership& membership);
  void go(State state);

  const Config config_;
  ServerFacts facts_;
  Ruling ruling_;
  Candidacy candidacy_;
  State state_ = State::idle;
  bool command_ = false, check_ = false, news_ = false;  ///< see the outputs of Candidacy
  Vote barred_ = Vote::pending;                          ///< pending: the node is not barred
  bool own_word_ = false;                                ///< the node has a record of our groups
  std::string found_;                                    ///< what was last read as its record
  std::string record_;
  SharedMembership membership_;
  std::uint64_t floor_ = 0;
  std::int64_t since_ = 0;
  core::Time next_check_ = core::never;
  bool reading_again_ = false;
  bool judged_ = false;             ///< the last ruling is about the present record
  std::string refusal_;             ///< see Ruling
  Vote vote_ = Vote::nodes_differ;  ///< see Ruling
  std::string own_words_;           ///< what an enrolled node compares, as RESP
};

}  // namespace quorumlock::redis
