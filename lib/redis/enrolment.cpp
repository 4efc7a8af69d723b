#include "redis/enrolment.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/mutants.hpp"
#include "core/validity.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/verbs/vote.hpp"
#include "redis/words.hpp"

namespace quorumlock::redis {
namespace {

using core::Mutant;
using core::planted;
using core::Time;

/// The time between two looks at a node that does not vote: another client may have enrolled it.
constexpr core::Duration between_looks = std::chrono::seconds(1);

void call(std::string& out, const Script& script, std::initializer_list<std::string_view> keys,
          std::initializer_list<std::string_view> arguments) {
  // The script is sent in full: calls are rare, and the server may have forgotten its scripts, too.
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVAL", script.source, count};
  words.insert(words.end(), keys);
  words.insert(words.end(), arguments);
  append_command(out, words);
}

}  // namespace

Enrolment::Texts texts_of(const Reply& reply) {
  Enrolment::Texts texts;
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return texts;
  const auto text = [](const Reply& word) {
    return word.type == Reply::Type::string ? std::optional<std::string>(word.text) : std::nullopt;
  };
  texts.record = text(reply.elements[0]);
  texts.members = text(reply.elements[1]);
  return texts;
}

EnrolmentRecord Enrolment::wanted(const Membership& as) const {
  EnrolmentRecord record;
  record.run_id = facts_.run_id;
  record.terms.max_ttl_ms = config_.max_ttl / std::chrono::milliseconds(1);
  record.terms.fencing_memory_s = config_.fencing_memory / std::chrono::seconds(1);
  record.terms.groups = config_.groups;
  record.terms.policy =
      names_policy() ? *config_.policy
                     : others_.policy.value_or(candidacy_.policy().value_or(Quarantine::always));
  record.members = as.mark();
  record.durable = facts_.durable.value_or(false);
  return record;
}

/// Whether our policy is part of the terms. unsafe_never is a client's own affair: such a client
/// follows the record like one that names no policy.
bool Enrolment::names_policy() const {
  return config_.policy && *config_.policy != Quarantine::unsafe_never;
}

/// The node is enrolled with this record, which has our terms.
void Enrolment::enrol_as(Time now, std::string record, Membership membership) {
  const std::optional<EnrolmentRecord> is = EnrolmentRecord::parse(record);
  record_ = std::move(record);
  membership_ = std::move(membership);
  policy_ = is->terms.policy;
  floor_ = is->floor;
  since_ = is->since;
  go(Step::enrolled);
  if (policy_ == Quarantine::trust_disk) next_look_ = now + config_.between_checks;
}

void Enrolment::go(Step step) {
  news_ = news_ || (step_ == Step::enrolled) != (step == Step::enrolled) || step == Step::enrolled;
  step_ = step;
  to_send_ = step != Step::repairing && step != Step::enrolled && step != Step::waiting &&
             step != Step::refused && step != Step::idle && step != Step::asking &&
             step != Step::noting;
  next_look_ = core::never;
}

void Enrolment::rest(Time now, Step step, std::string why) {
  go(step);
  why_ = std::move(why);
  next_look_ = now + between_looks;
}

void Enrolment::refuse(Time now, Vote vote, std::string why) {
  hopes_ = false;
  vote_ = vote;
  rest(now, Step::refused, std::move(why));
}

void Enrolment::greeted(Time now, ServerFacts facts, const Texts& texts) {
  facts_ = std::move(facts);
  judge(now, texts);
}

void Enrolment::follow(Time now, Others others) {
  others.ever = others.ever || others_.ever;
  others_ = std::move(others);
  if (others_.ever) known_ = true;
  if (step_ == Step::enrolled && others_.outdated) {
    why_ = "has a record that no change of the nodes takes along";
    change_terms(enrolment_key, record_, {});
  }
  // A node that only waited for this need not wait for its next look.
  if (step_ == Step::waiting && (candidacy_.ripe() || careless()) && others_.admitted)
    next_look_ = std::min(next_look_, now);
}

void Enrolment::disconnected() {
  go(Step::idle);
  to_repair_ = to_check_ = hopes_ = false;
  candidacy_.disconnected();
  errand_ = Errand::none;
}

void Enrolment::doubt() {
  if (step_ != Step::enrolled) return;
  why_ = "does not have the enrolment that it had";
  to_check_ = policy_ == Quarantine::trust_disk;
  go(Step::reading);
}

/// Decides what to do about a node with these texts.
void Enrolment::judge(Time now, const Texts& texts) {
  const std::optional<std::string>& text = texts.record;
  hopes_ = false;
  if (config_.only_looks) return refuse(now, Vote::quarantined, "is only looked at");
  std::optional<EnrolmentRecord> record = text ? EnrolmentRecord::parse(*text) : std::nullopt;
  const std::optional<Membership> membership =
      record && record->members ? Membership::parse(texts.members.value_or(""), *record->members)
                                : std::nullopt;
  if (!membership) record.reset();
  if (facts_.run_id.empty()) {
    return refuse(now, Vote::unauthorized,
                  "does not tell its run id: let this user call INFO server");
  }
  EnrolmentRecord ours = wanted();
  if (record && !names_policy()) ours.terms.policy = record->terms.policy;
  expected_ = text.value_or("");
  own_word_ = record && record->terms == ours.terms;
  if (record && record->terms != ours.terms) {
    if (config_.changes_terms) {
      candidacy_.set_policy(ours.terms.policy);
      return change_terms(enrolment_key, *text,
                          std::chrono::milliseconds(record->terms.max_ttl_ms));
    }
    const TermsDifference what(record->terms, ours.terms);
    return refuse(now, what.vote, what.of_a_record());
  }
  if (record && record->run_id == facts_.run_id) {
    const bool no_longer = record->durable && facts_.durable == false;
    if (!no_longer) return enrol_as(now, *text, *membership);
  }
  EnrolmentRecord next = record.value_or(ours);
  next.run_id = facts_.run_id;
  next.durable = ours.durable && (!record || record->durable);
  const bool this_run = record && record->run_id == facts_.run_id;
  const bool trusts = record && record->terms.policy == Quarantine::trust_disk;
  const std::string doubts = trusts ? why_not_trusted(*record, *membership) : "";
  const bool no_text = planted(Mutant::absent_taken_as_new) && !text;
  wanted_as_ = membership.value_or(others_.admitted.value_or(others_.founded));
  next.members = wanted_as_.mark();
  wanted_ = next.to_string();
  if (careless() && !membership && !others_.admitted)
    return rest(now, Step::waiting, "has no enrolment, and no node says of which list it is");
  if (planted(Mutant::no_quarantine) || no_text || careless()) return go(Step::adopting);
  if (this_run) return write(Step::adopting);
  if (trusts && doubts.empty()) {
    return planted(Mutant::notes_not_looked_at) ? go(Step::adopting)
                                                : run(Errand::look_up, Step::asking);
  }
  if (trusts && record->durable && facts_.durable == true) errand_ = Errand::suspect;
  why_ = !text              ? "has no enrolment: it is new, or has forgotten everything"
         : !record          ? "has an enrolment that cannot be read"
         : !record->durable ? "has been restarted, and does not write every change to its disk"
         : !doubts.empty()  ? doubts
                            : "has been restarted";
  // The candidate script would take an unreadable record of this run for the enrolment.
  if (text && text->starts_with(facts_.run_id + ':')) return change_terms(enrolment_key, *text, {});
  go(Step::applying);
}

void Enrolment::on_reply(Time now, const Reply& reply) {
  using Type = Reply::Type;
  if (reply.type == Type::error && step_ != Step::idle) {
    Vote vote = vote_of_error(reply.text);
    if (vote == Vote::held || vote == Vote::no_script) vote = Vote::failed;  // not about a lock
    return refuse(now, vote, "cannot be enrolled: " + words_of(reply));
  }
  const bool done = reply.type == Type::integer && reply.integer == 1;
  switch (step_) {
    case Step::reading: return judge(now, texts_of(reply));
    case Step::adopting:
      if (!done) return go(Step::reading);
      return enrol_as(now, wanted_, wanted_as_);
    case Step::replacing:
      if (!done) return go(Step::reading);
      if (config_.changes_terms) why_ = "is being enrolled anew, with other terms";
      return go(Step::applying);
    case Step::applying: return on_candidate(now, reply);
    case Step::claiming:
      if (reply.type != Type::status) return rest(now, Step::waiting, why_);
      to_repair_ = !planted(Mutant::no_repair);
      go(Step::repairing);
      if (planted(Mutant::no_repair))
        on_repaired({.as = others_.admitted.value_or(others_.founded)});
      return;
    case Step::yielding: return rest(now, Step::waiting, why_);
    case Step::enrolling:
      if (!done) return go(Step::applying);
      candidacy_.end();
      enrol_as(now, wanted_, wanted_as_);
      if (policy_ == Quarantine::trust_disk && facts_.durable == true) errand_ = Errand::erase;
      return;
    case Step::idle:
    case Step::waiting:
    case Step::asking:
    case Step::noting:
    case Step::repairing:
    case Step::enrolled:
    case Step::refused: return;
  }
}

/// Replaces `from` under this key, which has other terms; locks held on those may last for `wait`.
void Enrolment::change_terms(std::string_view key, std::string_view from, core::Duration wait) {
  replaced_key_ = key;
  expected_ = from;
  candidacy_.lengthen(wait);
  go(Step::replacing);
}

/// Reads the candidate script's reply: {1, the record of this run} or {2, the current candidate}.
void Enrolment::on_candidate(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2 ||
      reply.elements[1].type != Reply::Type::string) {
    return refuse(now, Vote::failed, "cannot be enrolled: it answers with something else");
  }
  const std::string text(reply.elements[1].text);
  if (reply.elements[0].integer == 1) return go(Step::reading);
  const auto candidate = EnrolmentCandidate::parse(text).value_or(EnrolmentCandidate());
  known_ = known_ || candidate.known;
  EnrolmentTerms its = candidate.record.terms;
  const core::Duration wait =
      std::chrono::milliseconds(std::max(its.max_ttl_ms, candidate.wait_ms));
  const std::optional<MembersMark> before = candidacy_.mark();
  candidacy_.reads(candidate);
  const EnrolmentTerms ours = wanted().terms;
  its.policy = ours.policy;  // the record's policy is decided when it is written
  if (its != ours) {
    candidacy_.forget();
    if (config_.changes_terms) return change_terms(candidate_key, text, wait);
    const TermsDifference what(its, ours);
    return refuse(now, what.vote,
                  "is being enrolled as " + words_of(reply.elements[1]) + what.of_a_candidate());
  }
  news_ = news_ || before != candidacy_.mark();
  if (other_founding(now, candidate, text)) return;
  const bool begins = candidacy_.stands(now, text, wait, config_.drift_factor);
  if (planted(Mutant::repair_before_quarantine) && begins) {
    wanted_.clear();
    return go(Step::claiming);
  }
  if (planted(Mutant::repair_before_quarantine) && now >= until() && !wanted_.empty()) {
    return go(Step::enrolling);
  }
  candidacy_.look(now, asked_);
  const bool ripe = candidacy_.ripe();
  news_ = news_ || ripe;  // the others may have to be looked at before they can vouch
  if (ripe && others_.admitted) return go(Step::claiming);
  if (ripe) return rest(now, Step::waiting, others_.why_not);
  rest(now, Step::waiting, why_);
  next_look_ = std::min(next_look_, until());
}

/// Whether this candidate is of another founding than ours while the list is being founded. Of two
/// foundings the smaller one stays, and the wait of its candidates begins again.
bool Enrolment::other_founding(Time now, const EnrolmentCandidate& candidate,
                               const std::string& text) {
  const MembersMark ours = others_.founded.mark();
  const std::optional<MembersMark>& its = candidate.record.members;
  if (!others_.founds || !its || *its == ours) return false;
  const bool smaller = its->founding < ours.founding;
  // The user will propose this founding, too.
  if (its->digest == ours.digest && (smaller || !others_.begun)) return false;
  candidacy_.forget();
  if (!smaller) {
    change_terms(candidate_key, text, std::chrono::milliseconds(candidate.wait_ms));
  } else {
    rest(now, Step::waiting,
         "is being enrolled in another list of nodes by another client: all clients must have the "
         "same");
  }
  return true;
}

void Enrolment::advance(Time now) {
  if (now < next_look_) return;
  if (step_ == Step::enrolled) {
    to_check_ = true;
    next_look_ = now + config_.between_checks;
    return;
  }
  // Other nodes that could not vouch for the node's durability before may do so by now.
  to_check_ = hopes_;
  go(step_ == Step::waiting && !hopes_ && !careless() ? Step::applying : Step::reading);
}

void Enrolment::look_again(Time now) {
  if (next_look_ != core::never && step_ != Step::enrolled) advance(std::max(now, next_look_));
}

void Enrolment::on_repaired(const Repaired& repaired) {
  if (step_ != Step::repairing) return;
  EnrolmentRecord record = wanted(repaired.as);
  wanted_as_ = repaired.as;
  record.floor = repaired.floor;
  record.since = repaired.since;
  wanted_ = record.to_string();
  if (planted(Mutant::repair_before_quarantine)) {
    go(Step::waiting);
    next_look_ = until();
    return;
  }
  write(Step::enrolling);
}

bool Enrolment::take_command(Time now, std::string& out) {
  if (!std::exchange(to_send_, false)) return false;
  asked_ = now;
  switch (step_) {
    case Step::reading: append_command(out, {"MGET", enrolment_key, members_key}); break;
    case Step::adopting:
      call(out, adopt_script, {enrolment_key, candidate_key, members_key},
           {expected_, wanted_, wanted_as_.text()});
      break;
    case Step::replacing:
      call(out, replace_script, {replaced_key_, candidate_key},
           {expected_, candidacy_.propose(wanted(), random_, known_),
            candidacy_.life(config_.max_ttl)});
      break;
    case Step::applying:
      call(out, candidate_script, {enrolment_key, candidate_key},
           {facts_.run_id, candidacy_.propose(wanted(), random_, known_),
            candidacy_.life(config_.max_ttl)});
      break;
    case Step::claiming:
      mark_ = nonce(random_);
      append_command(out, {"SET", repairer_key, mark_, "NX", "PX", repairer_ms});
      break;
    case Step::yielding: call(out, release_script, {repairer_key}, {mark_}); break;
    case Step::enrolling:
      call(out, enrol_script, {enrolment_key, candidate_key, repairer_key, members_key},
           {wanted_, candidacy_.text(), wanted_as_.text()});
      break;
    case Step::idle:
    case Step::waiting:
    case Step::asking:
    case Step::noting:
    case Step::repairing:
    case Step::enrolled:
    case Step::refused: break;
  }
  return true;
}

Enrolment::Standing Enrolment::standing() const {
  switch (step_) {
    case Step::enrolled: return Standing::enrolled;
    case Step::refused: return Standing::refused;
    case Step::waiting:
    case Step::claiming:
    case Step::asking:
    case Step::noting:
    case Step::repairing:
    case Step::yielding:
    case Step::enrolling: return Standing::waiting;
    case Step::applying: return candidacy_.text().empty() ? Standing::unknown : Standing::waiting;
    case Step::idle:
    case Step::reading:
    case Step::adopting:
    case Step::replacing: return Standing::unknown;
  }
  return Standing::unknown;
}

}  // namespace quorumlock::redis
