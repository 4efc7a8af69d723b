#include "members/witnesses.hpp"

#include <algorithm>
#include <optional>

#include "lock/mutants.hpp"
#include "loop/session.hpp"
#include "wire/words.hpp"

namespace quorumlock::detail {
namespace {

bool can_be_asked(const redis::Link& link) {
  const bool there =
      link.state() == core::LinkState::up || link.state() == core::LinkState::quarantined;
  return there && !link.enrolment().barred();
}

bool waits(const redis::Link& link) {
  return link.state() == core::LinkState::quarantined &&
         link.enrolment().standing() == redis::Enrolment::Standing::quarantined &&
         !link.enrolment().ripe();
}

}  // namespace

void Witnesses::looked(core::Time now, int node) {
  Seen& seen = seen_[static_cast<std::size_t>(node)];
  const std::string& nonce = session_.link(node).enrolment().wait().nonce();
  if (nonce != seen.nonce) seen = {nonce, seen.number + 1};
  for (const int other : session_.nodes()) {
    if (other != node && can_be_asked(session_.link(other))) ask(now, node, other);
  }
}

void Witnesses::came(core::Time now, int witness) {
  if (!can_be_asked(session_.link(witness))) return;
  for (const int node : session_.nodes()) {
    const std::string& nonce = session_.link(node).enrolment().wait().nonce();
    const bool seen = !nonce.empty() && nonce == seen_[static_cast<std::size_t>(node)].nonce;
    if (node != witness && seen && waits(session_.link(node))) ask(now, node, witness);
  }
}

void Witnesses::ask(core::Time now, int node, int witness) {
  std::string bytes;
  redis::append_command(bytes, {"TIME"});
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.claim.generation = seen_[static_cast<std::size_t>(node)].number;
  tag.kind = core::CommandKind::witness;
  ++unanswered_;
  session_.ask(now, witness, tag, bytes);
}

void Witnesses::on_answer(core::Time now, int witness, const core::Tag& tag,
                          const redis::Reply* reply) {
  --unanswered_;
  const auto node = static_cast<int>(tag.claim.index);
  const Seen& seen = seen_[static_cast<std::size_t>(node)];
  const bool late = tag.claim.generation != seen.number;
  if (reply == nullptr || (late && !core::planted(core::Mutant::late_times_count))) return;
  const std::optional<std::int64_t> time = redis::time_of(*reply);
  const bool known = session_.is_in_list(node) && session_.is_in_list(witness);
  if (!time || !known) return;
  session_.link(node).hears_time(now, seen.nonce, session_.name_of(witness), *time);
  session_.touched(node);
}

}  // namespace quorumlock::detail
