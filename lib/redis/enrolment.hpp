#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

#include "core/types.hpp"
#include "redis/candidacy.hpp"
#include "redis/enrolment_record.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// What a node reports about itself when it is greeted.
struct ServerFacts {
  std::string run_id;  ///< of this run of the server; empty if it was not reported
  /// Whether each write is on the node's disk, and nowhere else, before it is answered: appendonly
  /// yes, appendfsync always, no-appendfsync-on-rewrite no, and no attached replica. Unset if the
  /// node did not report it.
  std::optional<bool> durable;
  /// The node's data was once another server's in this run (master_replid2, second_repl_offset);
  /// also true if the node did not report these.
  bool promoted = false;
};

/// Whether the votes of one node count, as a state machine.
///
/// A node that may have forgotten locks must not vote until every lock that it may have forgotten
/// has expired. The node carries a record of the run of the server whose votes count. If the record
/// is missing or names another run, the node waits: a client puts a candidate with a nonce on it,
/// and if that very candidate still stands after max_ttl on this client's clock, the node forgot
/// nothing meanwhile. Then the user of this class repairs the fencing counters, and the node is
/// enrolled.
///
/// Under trust_disk a node that was durable, and still is, remembers: it is enrolled at once. Its
/// memory must be its own, so the record must name it, no server may have been its master, and the
/// other nodes are asked whether it was seen not to be durable: before a record says "volatile",
/// that is noted on q - 1 of them, since the node may start from a file without that record.
///
/// As what it is enrolled, and whether it may be at all, depends on the other nodes: the user
/// judges them with an Electorate, and passes the result to follow().
class Enrolment {
 public:
  struct Config {
    core::Duration max_ttl = std::chrono::seconds(30);
    double drift_factor = 0.01;
    std::optional<Quarantine> policy = {};                   ///< unset: as the record says
    core::Duration fencing_memory = std::chrono::hours(24);  ///< whole seconds
    std::string groups = {};                                 ///< see EnrolmentTerms
    /// A node enrolled with other terms is enrolled anew, after the greater max_ttl of the two.
    bool changes_terms = false;
    bool only_looks = false;  ///< no node is enrolled or judged: an operator looks at its record
    std::string node = {};    ///< the node's name, as configured
    /// The time between two checks whether an enrolled node is still durable, under trust_disk.
    core::Duration between_checks = std::chrono::seconds(5);
  };
  enum class Standing {
    unknown,   ///< not known yet; it takes a round trip or two
    enrolled,  ///< its votes count
    waiting,   ///< quarantined
    refused,   ///< its record contradicts our options: see why()
  };

  Enrolment(Config config, core::Random& random) : config_(config), random_(random) {}

  /// A task for the user that concerns the other nodes. The user reports the end of a look_up or a
  /// note by done(); nothing waits for the others.
  enum class Errand {
    none,
    look_up,  ///< ask N - q + 1 other nodes whether this node was seen not to be durable
    note,     ///< note on q - 1 other nodes that this node is not durable
    remind,   ///< renew that note
    suspect,  ///< note that this node's data is a copy: after its next restart it may not know
    erase,    ///< erase the notes: the node has been quarantined since, and is durable
  };

  // Inputs.

  /// What a node carries; either is unset if the node does not have it.
  struct Texts {
    std::optional<std::string> record, members;
  };

  /// There is a new connection, on which these texts were read.
  void greeted(core::Time now, ServerFacts facts, const Texts& texts);
  void disconnected();
  /// A vote script has found a record other than ours.
  void doubt();
  /// The reply to the command that was taken last.
  void on_reply(core::Time now, const Reply& reply);
  void advance(core::Time now);
  /// The counters are repaired, of the node as this member.
  struct Repaired {
    std::uint64_t floor = 0;  ///< 0 unless the order of tokens rests on clocks, here or on a node
                              ///< that they came from, since `since`
    std::int64_t since = 0;
    Membership as = {};
  };
  struct RepairFailed {};
  enum class ErrandEnd {
    good,     ///< enough nodes have no note, or the note is on enough nodes
    too_few,  ///< too few nodes answered
    refuted,  ///< the look_up has found a note
  };
  /// The end of what the user was given to do.
  using Done = std::variant<Repaired, RepairFailed, ErrandEnd>;
  void done(core::Time now, const Done& what);
  /// Takes the facts that a connected node reports now.
  void look_at(core::Time now, ServerFacts facts);
  /// What the other nodes say.
  struct Others {
    std::optional<Quarantine> policy{};  ///< of the enrolled nodes, for a client that names none
    bool ever = false;                   ///< some node was ever enrolled: then locks may be held
    bool founds = false;   ///< the list is being founded, so candidates have to be of one founding
    bool begun = false;    ///< another node has a candidate of the founding below
    Membership founded{};  ///< how the node would be enrolled then
    std::optional<Membership> admitted{};  ///< as what it may be enrolled now
    std::string why_not{};                 ///< if it may not
    bool outdated = false;                 ///< its record is to be replaced: see Electorate
  };
  void follow(core::Time now, Others others);
  /// Like advance(), but does not wait for the next look of a node that does not vote.
  void look_again(core::Time now);

  // Outputs.

  /// Appends the next command, which is sent at once; false if there is none.
  bool take_command(core::Time now, std::string& out);
  /// True once each time the counters are to be repaired.
  bool take_repair() { return std::exchange(to_repair_, false); }
  Errand take_errand() { return std::exchange(errand_, Errand::none); }
  /// True once each time the server must be asked for its facts, for look_at(), before the command
  /// that is taken next.
  bool take_check() { return std::exchange(to_check_, false); }
  [[nodiscard]] core::Time deadline() const { return next_look_; }
  [[nodiscard]] Standing standing() const;
  /// The record was asked for.
  [[nodiscard]] bool is_reading() const { return step_ == Step::reading; }
  /// The earliest end of a waiting node's wait.
  [[nodiscard]] core::Time until() const { return candidacy_.until(); }
  /// The vote of a node that is not enrolled.
  [[nodiscard]] Vote vote() const { return step_ == Step::refused ? vote_ : Vote::quarantined; }
  /// One clause on a node that is not enrolled, such as "has no enrolment".
  [[nodiscard]] const std::string& why() const { return why_; }
  /// The node votes on our terms, or every lock that it granted on other terms has expired.
  [[nodiscard]] bool ripe() const { return step_ == Step::enrolled || candidacy_.ripe(); }
  /// The record of an enrolled node, as vote commands carry it.
  [[nodiscard]] const std::string& record() const { return record_; }
  /// Of an enrolled node.
  [[nodiscard]] const Membership& membership() const { return membership_; }
  /// See Candidacy.
  [[nodiscard]] core::Time candidate_seen() const { return candidacy_.seen(); }
  /// See Candidacy::mark().
  [[nodiscard]] const std::optional<MembersMark>& candidate() const { return candidacy_.mark(); }
  /// There is one group, or the node has a record of our groups.
  [[nodiscard]] bool knows_groups() const { return config_.groups.empty() || own_word_; }
  /// True once each time something has changed that other nodes' links have to know.
  bool take_news() { return std::exchange(news_, false); }
  [[nodiscard]] Quarantine policy() const { return policy_; }
  /// Whether the node's notes on others count: it is enrolled, is being enrolled without a wait, or
  /// may be as soon as enough other nodes vouch for its durability. Nodes that were restarted at
  /// one time look at one another at different moments, so the last holds between two looks, too.
  [[nodiscard]] bool remembers() const {
    return step_ == Step::enrolled || step_ == Step::asking || step_ == Step::adopting || hopes_;
  }
  /// Some client has seen nodes of this cluster enrolled, so clients may hold locks.
  [[nodiscard]] bool was_enrolled() const { return known_; }
  [[nodiscard]] const std::string& run_id() const { return facts_.run_id; }
  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] std::uint64_t floor() const { return floor_; }
  [[nodiscard]] std::int64_t since() const { return since_; }
  /// Our mark under the repairer's key while we repair.
  [[nodiscard]] const std::string& mark() const { return mark_; }
  /// The record as we would have it.
  [[nodiscard]] EnrolmentRecord wanted() const { return wanted(others_.founded); }
  [[nodiscard]] EnrolmentRecord wanted(const Membership& as) const;
  [[nodiscard]] const Others& others() const { return others_; }

 private:
  enum class Step {
    idle,       ///< not connected
    reading,    ///< the record was asked for
    asking,     ///< other nodes are asked whether this node was seen not to be durable
    noting,     ///< other nodes note that it is not durable, before its record says so
    adopting,   ///< the record is being changed without a wait
    replacing,  ///< our candidate replaces a record or a candidate with other terms
    applying,   ///< the candidate is being put on the node, or looked at
    waiting,    ///< for max_ttl to pass, with a look at the candidate now and then
    claiming,   ///< max_ttl has passed: trying to become the repairer
    repairing,  ///< the user repairs the counters
    yielding,   ///< the repair failed: giving up the mark, so that another client may try
    enrolling,  ///< the record is being written
    enrolled,
    refused,  ///< with a new look now and then
  };

  void judge(core::Time now, const Texts& texts);
  void on_repaired(const Repaired& repaired);
  void on_errand_end(core::Time now, ErrandEnd end);
  void on_candidate(core::Time now, const Reply& reply);
  void change_terms(std::string_view key, std::string_view from, core::Duration wait);
  [[nodiscard]] bool names_policy() const;
  /// We do not wait for a node to have forgotten nothing.
  [[nodiscard]] bool careless() const { return config_.policy == Quarantine::unsafe_never; }
  void enrol_as(core::Time now, std::string record, Membership membership);
  bool other_founding(core::Time now, const EnrolmentCandidate& candidate, const std::string& text);
  void write(Step step);
  void run(Errand errand, Step step);
  [[nodiscard]] std::string why_not_trusted(const EnrolmentRecord& record,
                                            const Membership& membership) const;
  void go(Step step);
  void rest(core::Time now, Step step, std::string why);
  void refuse(core::Time now, Vote vote, std::string why);

  Config config_;
  core::Random& random_;
  ServerFacts facts_;
  Step step_ = Step::idle;
  bool to_send_ = false;
  bool to_repair_ = false;
  bool to_check_ = false;
  Errand errand_ = Errand::none;
  Step after_noting_ = Step::adopting;  // the step that writes wanted_ after that
  bool hopes_ = false;                  // other nodes may still vouch for its durability
  bool known_ = false;                  // some node was enrolled
  bool own_word_ = false;               ///< the node has a record of our groups
  bool news_ = false;
  std::string expected_, wanted_;  // of the change under way
  Membership wanted_as_;
  std::string record_;
  Membership membership_;
  Quarantine policy_ = Quarantine::always;  // of record_
  Others others_;                           // see follow()
  std::uint64_t floor_ = 0;
  std::int64_t since_ = 0;
  Candidacy candidacy_;
  std::string mark_;               // ours, as the repairer
  std::string_view replaced_key_;  // the key that held expected_
  core::Time next_look_ = core::never;
  core::Time asked_{};  ///< when the last command was sent
  std::string why_;
  Vote vote_ = Vote::quarantined;
};

/// Reads the reply to MGET enrolment_key members_key.
Enrolment::Texts texts_of(const Reply& reply);

}  // namespace quorumlock::redis
