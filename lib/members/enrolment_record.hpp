#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <quorumlock/outcome.hpp>

#include "lock/types.hpp"
#include "members/membership.hpp"
#include "wire/reply.hpp"

namespace quorumlock::redis {

/// The two texts about its membership that a node carries; each is unset if the node does not have
/// it.
struct RecordTexts {
  std::optional<std::string> record, members;
};
/// Reads the reply to MGET of these texts.
RecordTexts texts_of(const Reply& reply);

/// Random bits in hexadecimal: a nonce.
std::string nonce(core::Random& random);

/// Clauses on a node that is enrolled for groups with this mark, or is being enrolled for them,
/// while ours is another: see core::Placement::mark().
std::string enrolled_for_groups(std::string_view theirs, std::string_view ours);
std::string being_enrolled_for_groups(std::string_view ours);

/// The record under enrolment_key: "run id:nonce@groups#membership", followed by ":floor:since" (in
/// us since 1970) if the fencing counters of this node, or of one that it was repaired from, could
/// not be repaired from a quorum.
///
/// The nonce is drawn for each enrolment, so a node that forgets and is enrolled again in the same
/// run has another record. A client that has noted a record and finds it again knows that the node
/// has forgotten nothing in between. A step of a change of the nodes keeps the nonce.
///
/// The groups are a mark (see core::Placement::mark()), empty if there is one group. What follows
/// the
/// "#" is the mark of the membership under members_key, which has the terms of the list.
struct EnrolmentRecord {
  std::string run_id;
  std::string nonce;
  std::string groups;
  MembersMark members;
  std::uint64_t floor = 0;  ///< every fencing token from here on is greater
  std::int64_t since = 0;   ///< when the floor was set; 0: the order of tokens rests on counters

  static std::optional<EnrolmentRecord> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

/// Whether a record that names the run `recorded` was written in the run that the node reports, see
/// ServerFacts::run(). It may have been written while the node still knew that it had been
/// promoted.
bool is_this_run(std::string_view recorded, std::string_view reported);

/// The candidate under candidate_key while a node waits: the future record, without a floor,
/// followed by ":wait in ms" if the wait may have to be longer than the list says; then by ";" and
/// the node's TIME at which it began, and by ",name=TIME" for each other node that was read since
/// (see TimedWait). TIMEs are in us since 1970. The node puts its own there when the candidate is
/// written.
using NodeTimes = std::map<std::string, std::int64_t, std::less<>>;
struct EnrolmentCandidate {
  EnrolmentRecord record;
  std::int64_t wait_ms = 0;
  std::int64_t begun = 0;  ///< 0: it is only proposed
  NodeTimes times = {};

  static std::optional<EnrolmentCandidate> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

}  // namespace quorumlock::redis
