#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <quorumlock/status.hpp>

#include "lock/types.hpp"
#include "members/candidate_wait.hpp"
#include "members/enrolment_record.hpp"
#include "members/ruling.hpp"
#include "wire/reply.hpp"
#include "wire/server_facts.hpp"

namespace quorumlock::redis {

/// How a node without a record of its present run is enrolled, as a state machine.
///
/// A node that may have forgotten locks must not vote until every lock that it may have forgotten
/// has expired. So a client puts a candidate with a nonce on it, and if that very candidate still
/// stands when the wait is over, the node forgot nothing meanwhile. Then the user repairs the
/// fencing counters, and the node gets a record.
///
/// Each change of a text is a script that does nothing if the node has another text by then, or
/// another client's mark. The script is sent in full: changes are rare, and the server may have
/// forgotten its scripts, too.
///
/// The node may refuse our user the right to write its record. Then another client has to enrol the
/// node: this one looks whether that has been done, and tries no write again on this connection.
class Candidacy {
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
  enum class State {
    none,       ///< the node is not connected, its record is being read, or it is enrolled
    replacing,  ///< our candidate replaces a record or a candidate
    applying,   ///< the candidate is being put on the node, or looked at
    waiting,    ///< time has to pass; the candidate is looked at now and then
    naming,     ///< TIMEs of other nodes are being added to the candidate
    claiming,   ///< the wait is over: trying to become the repairer
    repairing,  ///< the user repairs the counters
    yielding,   ///< the repair failed: giving up the mark, so that another client may try
    enrolling,  ///< the record is being written
    refused,    ///< the record contradicts our options: it is read again now and then
    over,       ///< the record has to be read again
    won,        ///< the node has our record
  };

  Candidacy(const Config& config, const ServerFacts& facts, const Ruling& ruling,
            core::Random& random)
      : config_(config), facts_(facts), ruling_(ruling), random_(random) {}

  // Inputs. The user looks at state() after each of them.

  /// The node has no record of its run; `why`, and what it remembers of an earlier one.
  void begin(std::string why, SharedMembership remembered);
  /// Replaces the text `from` under this key. Locks that were granted by it may last for `wait`.
  void replace(std::string_view key, std::string_view from, core::Duration wait);
  /// The node does not vote, whatever it waits for.
  void refuse(core::Time now, Vote vote, std::string why);
  /// Gives another reason why the node does not vote.
  void because(std::string why) { why_ = std::move(why); }
  /// The node is not connected, or its record is being read.
  void leave();
  void disconnected();
  /// The node has a record of its run.
  void end();
  void on_reply(core::Time now, const Reply& reply);
  /// The answer to any command is this error; the text is that of words_of().
  void on_error(core::Time now, std::string_view text);
  void advance(core::Time now);
  /// The counters are repaired, and the node may be enrolled with the membership `as`. The floor is
  /// 0 unless the order of tokens rests on clocks, here or on a node that the counters came from,
  /// since `since`.
  void repaired(const Membership& as, std::uint64_t floor, std::int64_t since);
  /// `refused`: our user may not read or write some counters. `why` others cannot repair it either;
  /// empty: it may be tried again.
  void repair_failed(bool refused, const std::string& why);
  /// Another node has told its TIME, after the candidate with this nonce was seen here.
  void hears_time(core::Time now, std::string_view nonce, const std::string& name,
                  std::int64_t time);
  /// The ruling or the facts have changed.
  void expect(core::Time now);

  // Outputs.

  [[nodiscard]] State state() const { return state_; }
  /// Appends the next command, which is sent at once; false if there is none.
  bool take_command(core::Time now, std::string& out);
  /// These are true once each time: whether the counters are to be repaired; whether the server
  /// must be asked for its facts before the next command; whether the other nodes are to be asked
  /// for their TIMEs, for hears_time(); whether other nodes' links have to know what has changed.
  bool take_repair() { return std::exchange(repair_, false); }
  bool take_check() { return std::exchange(check_, false); }
  bool take_times() { return std::exchange(times_, false); }
  bool take_news() { return std::exchange(news_, false); }
  /// Whether a step is under way that ends with an answer of some node, not with a time.
  [[nodiscard]] bool is_at_work() const;
  [[nodiscard]] core::Time deadline() const { return next_look_; }
  [[nodiscard]] NodeEnrolment::Standing standing() const;
  [[nodiscard]] const CandidateWait& wait() const { return wait_; }
  [[nodiscard]] Vote vote() const;
  /// One clause on the node, such as "has no enrolment".
  [[nodiscard]] const std::string& why() const { return why_; }
  /// Whether the node has let our user write on this connection what decides whether it votes.
  [[nodiscard]] bool may_enrol() const { return allowed_ == Allowed::to_enrol; }
  /// Whether the node has refused that.
  [[nodiscard]] bool is_tenant() const { return allowed_ >= Allowed::to_look; }
  /// Whether the node waits to be enrolled, and our user may not do that.
  [[nodiscard]] bool awaits_operator() const { return awaits_operator_; }
  /// Whether such a node has no candidate, so no client that may enrol it has looked at it.
  [[nodiscard]] bool nobody_enrols() const {
    return awaits_operator_ && allowed_ == Allowed::to_look && !begun_by_another_;
  }
  /// How often this client has enrolled the node.
  [[nodiscard]] std::uint64_t enrolments() const { return enrolments_; }
  /// Our mark under the repairer's key while we repair.
  [[nodiscard]] const std::string& mark() const { return mark_; }
  /// The record that we want the node to have, with a new nonce.
  [[nodiscard]] EnrolmentRecord wanted(const Membership& as) const;
  /// The text of our record and its membership, once the node has them.
  [[nodiscard]] const std::string& record() const { return to_; }
  [[nodiscard]] const Membership& membership() const { return as_; }

 private:
  /// What our user may do with the keys of the node, as far as the node has said.
  enum class Allowed { untried, to_enrol, to_look, none };

  [[nodiscard]] int nodes() const { return static_cast<int>(ruling_.founded->to.size()); }
  [[nodiscard]] std::string proposal() const;
  void reads(const EnrolmentCandidate& candidate, std::int64_t time);
  void on_candidate(core::Time now, const Reply& reply);
  bool other_founding(core::Time now, const EnrolmentCandidate& candidate, const std::string& text);
  void name_times();
  void leave_to_others(core::Time now);
  void go(State state);
  void rest(core::Time now, State state, std::string why);

  const Config& config_;
  const ServerFacts& facts_;
  const Ruling& ruling_;
  core::Random& random_;
  State state_ = State::none;
  Allowed allowed_ = Allowed::untried;
  bool command_ = false, repair_ = false, check_ = false, times_ = false, news_ = false;
  bool awaits_operator_ = false, begun_by_another_ = false;
  std::uint64_t enrolments_ = 0;
  CandidateWait wait_;
  core::Time next_look_ = core::never;
  std::string why_;
  Vote vote_ = Vote::quarantined;  ///< that of a refused node
  std::string_view key_;           ///< the key of the text that is replaced
  std::string from_, to_;          ///< the text that is replaced, or the one in its place
  Membership as_;                  ///< the membership that goes with the record `to_`
  std::string mark_;
};

}  // namespace quorumlock::redis
