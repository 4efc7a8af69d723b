#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "lock/types.hpp"
#include "members/candidacy.hpp"
#include "members/enrolment_record.hpp"
#include "members/record_change.hpp"
#include "members/ruling.hpp"
#include "wire/reply.hpp"
#include "wire/server_facts.hpp"

namespace quorumlock::redis {

/// Whether the votes of one node count, as a state machine.
///
/// A node that may have forgotten locks must not vote until every lock that it may have forgotten
/// has expired. The node carries a record of the run of the server whose votes count. If the record
/// is missing or names another run, the node waits: a client puts a candidate with a nonce on it,
/// and if that very candidate still stands after max_ttl on this client's clock, the node forgot
/// nothing meanwhile. Then the user of this class repairs the fencing counters, and the node is
/// enrolled.
///
/// Whether a node may be enrolled, and with which membership, depends on the other nodes: the user
/// judges them with an Electorate, and passes the result to follow().
///
/// The node may refuse our user the right to write its record. Then another client has to enrol the
/// node: this one looks whether that has been done, and tries no write again on this connection.
class Enrolment {
 public:
  struct Config {
    NamedTerms named = {};
    double drift_factor = 0.01;
    std::string groups = {};  ///< see EnrolmentRecord
    /// An operator's client: a node enrolled for other groups is enrolled anew, once its votes of
    /// before have expired, and candidates for other lists give way.
    bool changes_groups = false;
    bool only_looks = false;  ///< no node is enrolled or judged: an operator looks at its record
    std::string node = {};    ///< the node's name, as configured
    /// The time between two checks of an enrolled node in whose place Sentinels may put another.
    core::Duration between_checks = std::chrono::seconds(5);
  };
  enum class Standing {
    unknown,   ///< not known yet; it takes a round trip or two
    enrolled,  ///< its votes count
    waiting,   ///< quarantined
    refused,   ///< its record contradicts our options: see why()
  };

  Enrolment(Config config, core::Random& random) : config_(config), random_(random) {}

  // Inputs.

  /// There is a new connection, on which these texts were read.
  void greeted(core::Time now, ServerFacts facts, const RecordTexts& texts);
  void disconnected();
  /// A vote script has found a record other than ours.
  void doubt();
  /// The reply to the command that was taken last; the text of an error is that of words_of().
  void on_reply(core::Time now, const Reply& reply);
  void advance(core::Time now);
  /// The counters are repaired, and the node may be enrolled with the membership `as`.
  struct Repaired {
    std::uint64_t floor = 0;  ///< 0 unless the order of tokens rests on clocks, here or on a node
                              ///< that the counters came from, since `since`
    std::int64_t since = 0;
    Membership as = {};
  };
  struct RepairFailed {
    bool refused = false;  ///< our user may not read or write some counters
    std::string why = {};  ///< why others cannot repair it either; empty: it may be tried again
  };
  /// The end of the repair that the user was asked for.
  using Done = std::variant<Repaired, RepairFailed>;
  void done(const Done& what);
  /// Takes the facts that a connected node reports now.
  void look_at(core::Time now, ServerFacts facts);
  /// Another node has told its TIME, after the candidate with this nonce was seen here.
  void hears_time(core::Time now, std::string_view nonce, const std::string& name,
                  std::int64_t time);
  /// Takes what the records of all nodes mean for this one.
  void follow(core::Time now, Ruling ruling);

  // Outputs.

  /// Appends the next command, which is sent at once; false if there is none.
  bool take_command(core::Time now, std::string& out);
  /// Whether the counters are to be repaired; true once each time.
  bool take_repair() { return std::exchange(outputs_.repair, false); }
  /// Whether the server must be asked for its facts, for look_at(), before the command that is
  /// taken next; true once each time.
  bool take_check() { return std::exchange(outputs_.check, false); }
  /// Whether the other nodes are to be asked for their TIMEs, for hears_time(); true once each
  /// time.
  bool take_times() { return std::exchange(outputs_.times, false); }
  /// Whether a step is under way that ends with an answer of some node, not with a time.
  [[nodiscard]] bool is_at_work() const;
  [[nodiscard]] core::Time deadline() const { return next_look_; }
  [[nodiscard]] Standing standing() const;
  /// Whether the record was asked for, and is still to come.
  [[nodiscard]] bool is_reading() const { return step_ == Step::reading; }
  /// The wait of a node that is not enrolled.
  [[nodiscard]] const Candidacy& candidacy() const { return candidacy_; }
  /// The vote of a node that is not enrolled.
  [[nodiscard]] Vote vote() const {
    // Only what it remembers may be unclear: the list of a record that is there is certain.
    const bool unclear = not_voting_.vote == Vote::nodes_differ &&
                         candidacy_.remembered() != nullptr && ruling_.perhaps_ours;
    return step_ == Step::refused && !unclear ? not_voting_.vote : Vote::quarantined;
  }
  /// One clause on a node that is not enrolled, such as "has no enrolment".
  [[nodiscard]] const std::string& why() const { return not_voting_.why; }
  /// Whether the node votes for our groups, or every lock that it granted before has expired.
  [[nodiscard]] bool ripe() const { return step_ == Step::enrolled || candidacy_.ripe(); }
  /// The record with which a node is enrolled, and what it says.
  struct Enrolled {
    std::string record;  ///< the text that vote commands carry
    SharedMembership membership;
    std::uint64_t floor = 0;  ///< see EnrolmentRecord
    std::int64_t since = 0;
  };
  /// The record of an enrolled node.
  [[nodiscard]] const Enrolled& enrolled() const { return enrolled_; }
  /// Whether there is one group, or the node has a record of our groups.
  [[nodiscard]] bool knows_groups() const { return config_.groups.empty() || own_word_; }
  /// Whether something has changed that other nodes' links have to know; true once each time.
  bool take_news() { return std::exchange(outputs_.news, false); }
  /// Whether this client has seen a node of this cluster enrolled, so clients may hold locks.
  [[nodiscard]] bool was_enrolled() const { return ruling_.ever; }
  /// Whether the node has let our user write on this connection what decides whether it votes.
  [[nodiscard]] bool may_enrol() const { return right_ == Right::to_enrol; }
  /// Whether the node waits to be enrolled, and our user may not do that.
  [[nodiscard]] bool awaits_operator() const { return awaits_operator_; }
  /// Whether such a node has no candidate, so no client that may enrol it has looked at it.
  [[nodiscard]] bool nobody_enrols() const {
    return awaits_operator_ && right_ == Right::to_look && !begun_by_another_;
  }
  /// How often this client has enrolled the node.
  [[nodiscard]] std::uint64_t enrolments() const { return enrolments_; }
  /// The node's present run, as a record names it.
  [[nodiscard]] std::string run() const { return facts_.run(); }
  [[nodiscard]] const Config& config() const { return config_; }
  /// Our mark under the repairer's key while we repair.
  [[nodiscard]] const std::string& mark() const { return change_.mark; }
  /// The record that we want the node to have, with a new nonce.
  [[nodiscard]] EnrolmentRecord wanted(const Membership& as) const;
  [[nodiscard]] const Ruling& ruling() const { return ruling_; }

 private:
  enum class Step {
    idle,       ///< not connected
    reading,    ///< the record was asked for
    replacing,  ///< our candidate replaces a record or a candidate
    applying,   ///< the candidate is being put on the node, or looked at
    waiting,    ///< time has to pass; the candidate is looked at now and then
    naming,     ///< TIMEs of other nodes are being added to the candidate
    claiming,   ///< max_ttl has passed: trying to become the repairer
    repairing,  ///< the user repairs the counters
    yielding,   ///< the repair failed: giving up the mark, so that another client may try
    enrolling,  ///< the record is being written
    enrolled,
    refused,  ///< the node is looked at again now and then
  };

  [[nodiscard]] bool is_tenant() const { return right_ >= Right::to_look; }
  void judge(core::Time now, const RecordTexts& texts);
  /// What our user may do with the keys of the node, as far as the node has said.
  enum class Right { untried, to_enrol, to_look, none };

  void on_candidate(core::Time now, const Reply& reply);
  void name_times();
  [[nodiscard]] int nodes() const { return static_cast<int>(ruling_.founded->to.size()); }
  void on_look(core::Time now, const Reply& reply);
  void on_refusal(core::Time now, const Reply& reply);
  void leave_to_others(core::Time now);
  void replace(std::string_view key, std::string_view from, core::Duration wait);
  void expect(core::Time now);
  void enrol_as(core::Time now, const std::string& text, const EnrolmentRecord& record,
                const Membership& membership);
  bool other_founding(core::Time now, const EnrolmentCandidate& candidate, const std::string& text);
  void go(Step step);
  void rest(core::Time now, Step step, std::string why);
  void refuse(core::Time now, Vote vote, std::string why);

  Config config_;
  core::Random& random_;
  ServerFacts facts_;
  Step step_ = Step::idle;
  /// Outputs that are each taken once.
  struct Outputs {
    bool command = false, repair = false, check = false, times = false, news = false;
  };
  Outputs outputs_;
  Right right_ = Right::untried;
  bool awaits_operator_ = false, begun_by_another_ = false;
  std::uint64_t enrolments_ = 0;
  bool own_word_ = false;  ///< the node has a record of our groups
  RecordChange change_;
  Enrolled enrolled_;
  Ruling ruling_;
  Candidacy candidacy_;
  core::Time next_look_ = core::never;
  /// Why a node that is not enrolled does not vote.
  struct NotVoting {
    std::string why;
    Vote vote = Vote::quarantined;
  };
  NotVoting not_voting_;
};

}  // namespace quorumlock::redis
