#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>

#include "core/types.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// What a node says of itself when it is greeted.
struct ServerFacts {
  std::string run_id;  ///< of this run of the server; empty where it would not say
  /// Whether each write is on its disk before it is answered: appendonly yes, appendfsync always,
  /// no-appendfsync-on-rewrite no. Unset where it would not say.
  std::optional<bool> durable;
};

/// What all clients of a node must agree on: "max_ttl in ms", and "@mark" behind where there are
/// several groups (see core::Placement::mark()).
struct EnrolmentTerms {
  std::int64_t max_ttl_ms = 0;
  std::string groups;

  static std::optional<EnrolmentTerms> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  bool operator==(const EnrolmentTerms&) const = default;
};

/// The record under enrolment_key: "run id:terms:durable or volatile", and, where the fencing
/// counters could not be repaired from a quorum, ":floor:since" (in us since 1970) behind.
struct EnrolmentRecord {
  std::string run_id;
  EnrolmentTerms terms;
  bool durable = false;
  std::uint64_t floor = 0;  ///< every fencing token from here on is greater
  std::int64_t since = 0;   ///< when the floor was set; 0: the order of tokens rests on counters

  static std::optional<EnrolmentRecord> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

/// Whether the votes of one node count, as a state machine.
///
/// A node that may have forgotten locks must not vote until all that it may have forgotten has run
/// out. The node carries a record of the run of the server whose votes count. Where that is another
/// run than this, or none, the node waits: a candidate with a nonce is put there, and if that very
/// candidate still stands after max_ttl on this client's clock, nothing was forgotten meanwhile.
/// Then the fencing counters are repaired, which is the user's part, and the node is enrolled. A
/// node that is durable, and was, remembers: it is enrolled at once.
///
/// Where there are several groups, locks of clients that name others may be on nodes that this
/// client does not know: a node without a record of these groups is then enrolled only where
/// somebody vouches for them, another node of the group by being enrolled for them or the
/// operator's enroll.
class Enrolment {
 public:
  struct Config {
    core::Duration max_ttl = std::chrono::seconds(30);
    double drift_factor = 0.01;
    Quarantine policy = Quarantine::automatic;
    std::string groups = {};  ///< see EnrolmentTerms
    /// A node enrolled with other terms is enrolled anew, after the greater max_ttl of the two.
    bool changes_terms = false;
  };
  enum class Standing {
    unknown,   ///< being found out, in a round trip or two
    enrolled,  ///< its votes count
    waiting,   ///< quarantined
    refused,   ///< its record contradicts our options: see why()
  };

  Enrolment(Config config, core::Random& random) : config_(config), random_(random) {}

  // Inputs.

  /// A new connection, and the record as it was read on it.
  void greeted(core::Time now, ServerFacts facts, const std::optional<std::string>& record);
  void disconnected();
  /// A vote script has found another record than ours.
  void doubt();
  /// To the command that was taken last.
  void on_reply(core::Time now, const Reply& reply);
  void advance(core::Time now);
  /// The counters are repaired; `floor` 0 where from a quorum of other nodes.
  void repaired(std::uint64_t floor, std::int64_t since);
  void repair_failed();
  /// Does anybody else vouch for our groups?
  void vouch(bool yes) { vouched_ = yes; }
  /// As advance(), where a look is awaited.
  void look_again(core::Time now);

  // Outputs.

  /// Appends the next command, where there is one.
  bool take_command(std::string& out);
  /// True once each time the counters are to be repaired.
  bool take_repair();
  [[nodiscard]] core::Time deadline() const { return next_look_; }
  [[nodiscard]] Standing standing() const;
  /// Until when a waiting node waits at least.
  [[nodiscard]] core::Time until() const { return until_; }
  /// The vote of a node that is not enrolled.
  [[nodiscard]] Vote vote() const { return step_ == Step::refused ? vote_ : Vote::quarantined; }
  /// One clause on a node that is not enrolled, such as "has no enrolment".
  [[nodiscard]] const std::string& why() const { return why_; }
  /// It votes on our terms, or all that it granted on others has run out.
  [[nodiscard]] bool ripe() const { return step_ == Step::enrolled || ripe_; }
  /// What voters have to say; of an enrolled node.
  [[nodiscard]] const std::string& record() const { return record_; }
  [[nodiscard]] std::uint64_t floor() const { return floor_; }
  [[nodiscard]] std::int64_t since() const { return since_; }
  /// The record as we would have it.
  [[nodiscard]] EnrolmentRecord wanted() const;

 private:
  enum class Step {
    idle,       ///< not connected
    reading,    ///< the record was asked for
    adopting,   ///< the record is being changed from what it was, without a wait
    replacing,  ///< a candidate of ours takes the place of what has other terms
    applying,   ///< the candidate is being put there, or looked at
    waiting,    ///< for max_ttl to pass, looking at the candidate now and then
    claiming,   ///< max_ttl has passed: becoming the one who repairs
    repairing,  ///< the user is at it
    yielding,   ///< it did not work: somebody else may try
    enrolling,  ///< the record is being written
    enrolled,
    refused,  ///< looked at again now and then
  };

  void judge(core::Time now, const std::optional<std::string>& record);
  void on_candidate(core::Time now, const Reply& reply);
  void change_terms(std::string_view key, std::string_view from, core::Duration wait);
  [[nodiscard]] std::string new_candidate();
  void go(Step step);
  void rest(core::Time now, Step step, std::string why);
  void refuse(core::Time now, Vote vote, std::string why);

  Config config_;
  core::Random& random_;
  ServerFacts facts_;
  Step step_ = Step::idle;
  bool to_send_ = false;
  bool to_repair_ = false;
  bool vouched_ = false;
  bool own_word_ = false;          ///< the node has a record of our groups
  bool ripe_ = false;              ///< has waited long enough
  std::string expected_, wanted_;  // of the change under way
  std::string record_;
  std::uint64_t floor_ = 0;
  std::int64_t since_ = 0;
  std::string candidate_;
  std::string mark_;                // ours, as the one who repairs
  std::string_view replaced_key_;   // that held expected_
  core::Duration other_max_ttl_{};  // recorded before, where it is being changed
  core::Time until_{};
  core::Time next_look_ = core::never;
  std::string why_;
  Vote vote_ = Vote::quarantined;
};

}  // namespace quorumlock::redis
