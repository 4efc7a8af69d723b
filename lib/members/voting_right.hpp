#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "lock/types.hpp"
#include "members/enrolment.hpp"
#include "verbs/call.hpp"

namespace quorumlock::redis {

/// Whether the votes of a node count: it has to be enrolled, vote for our list of nodes, and must
/// not be barred.
///
/// If a vote is refused because the node's record has changed, the record is read again. The link
/// holds the commands that come meanwhile.
class VotingRight {
 public:
  VotingRight(Enrolment::Config config, core::Random& random)
      : enrolment_(std::move(config), random) {}

  // Inputs. After each of these, and each input of enrolment(), update() follows.

  /// A new connection is being greeted.
  void begin() { barred_ = Vote::pending; }
  /// The node must not vote while this connection lasts.
  void bar(Vote reason) { barred_ = reason; }
  /// The connection has ended.
  void end();
  void follow(core::Time now, Ruling ruling);
  /// Reads the record again. While it is read the last one stands.
  void doubt();
  /// Takes what has changed in the enrolment. Returns whether other nodes' links have to know it.
  bool update();
  /// Returns true once after the record has been read again: commands need not wait for it any
  /// more.
  bool end_reading();
  /// Takes a reply for the enrolment, which may quote an error; `said` is its text without our
  /// password.
  void on_reply(core::Time now, const Reply& reply, std::string_view said);
  Enrolment& enrolment() { return enrolment_; }

  // Outputs.

  [[nodiscard]] const Enrolment& enrolment() const { return enrolment_; }
  [[nodiscard]] bool barred() const { return barred_ != Vote::pending; }
  /// Whether the node's record may have changed and is being read.
  [[nodiscard]] bool is_reading_again() const { return reading_again_; }
  [[nodiscard]] bool votes() const { return !barred() && judged_ && refusal_.empty(); }
  /// Whether it is decided if the node votes.
  [[nodiscard]] bool is_known() const {
    return is_enrolled() ? judged_ : enrolment_.standing() != Enrolment::Standing::unknown;
  }
  [[nodiscard]] bool is_enrolled() const {
    return enrolment_.standing() == Enrolment::Standing::enrolled;
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

 private:
  Enrolment enrolment_;
  Vote barred_ = Vote::pending;  ///< pending: the node is not barred
  bool reading_again_ = false;
  bool judged_ = false;  ///< the last ruling is about the present record
  std::string refusal_;  ///< see Ruling
  Vote vote_ = Vote::nodes_differ;
  std::string own_words_;  ///< see own_words(), as RESP
};

}  // namespace quorumlock::redis
