#include "redis/enrolment.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
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

std::string nonce(core::Random& random) {
  std::uint64_t number = 0;
  random.fill(std::as_writable_bytes(std::span(&number, 1)));
  if (planted(Mutant::candidate_without_nonce)) return "0";
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

constexpr std::string_view nobody_vouches =
    "is not enrolled for these groups, nor is another node of its group that we reach: run "
    "quorumlock enroll with them";

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

EnrolmentRecord Enrolment::wanted() const {
  EnrolmentRecord record;
  record.run_id = facts_.run_id;
  record.terms.max_ttl_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(config_.max_ttl).count();
  record.terms.fencing_memory_s =
      std::chrono::duration_cast<std::chrono::seconds>(config_.fencing_memory).count();
  record.terms.groups = config_.groups;
  record.terms.policy = names_policy()
                            ? *config_.policy
                            : followed_.value_or(candidates_policy_.value_or(Quarantine::always));
  if (record.terms.policy == Quarantine::trust_disk) record.node = config_.node;
  record.durable = facts_.durable.value_or(false);
  return record;
}

/// Whether our policy is part of the terms. unsafe_never is a client's own affair: such a client
/// follows the record like one that names no policy.
bool Enrolment::names_policy() const {
  return config_.policy && *config_.policy != Quarantine::unsafe_never;
}

/// The node is enrolled with this record, which has our terms.
void Enrolment::enrol_as(Time now, std::string record) {
  const std::optional<EnrolmentRecord> is = EnrolmentRecord::parse(record);
  record_ = std::move(record);
  policy_ = is->terms.policy;
  floor_ = is->floor;
  since_ = is->since;
  go(Step::enrolled);
  if (policy_ == Quarantine::trust_disk) next_look_ = now + config_.between_checks;
}

void Enrolment::go(Step step) {
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
  vote_ = vote;
  rest(now, Step::refused, std::move(why));
}

void Enrolment::greeted(Time now, ServerFacts facts, const std::optional<std::string>& record) {
  facts_ = std::move(facts);
  judge(now, record);
}

void Enrolment::disconnected() {
  go(Step::idle);
  to_repair_ = to_check_ = ripe_ = false;
  errand_ = Errand::none;
}

void Enrolment::doubt() {
  if (step_ != Step::enrolled) return;
  why_ = "does not have the enrolment that it had";
  to_check_ = policy_ == Quarantine::trust_disk;
  go(Step::reading);
}

/// Decides what to do about a node with this record.
void Enrolment::judge(Time now, const std::optional<std::string>& text) {
  hopes_ = false;
  const std::optional<EnrolmentRecord> record = text ? EnrolmentRecord::parse(*text) : std::nullopt;
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
      candidates_policy_ = ours.terms.policy;
      return change_terms(enrolment_key, *text,
                          std::chrono::milliseconds(record->terms.max_ttl_ms));
    }
    const TermsDifference what(record->terms, ours.terms);
    return refuse(now, what.vote, what.of_a_record());
  }
  if (record && record->run_id == facts_.run_id) {
    const bool no_longer = record->durable && facts_.durable == false;
    if (!no_longer) return enrol_as(now, *text);
  }
  EnrolmentRecord next = record.value_or(ours);
  next.run_id = facts_.run_id;
  next.durable = ours.durable && (!record || record->durable);
  const bool this_run = record && record->run_id == facts_.run_id;
  const bool trusts = record && record->terms.policy == Quarantine::trust_disk;
  const std::string doubts = trusts ? why_not_trusted(*record) : "";
  const bool no_text = planted(Mutant::absent_taken_as_new) && !text;
  wanted_ = next.to_string();
  if (planted(Mutant::no_quarantine) || no_text || config_.policy == Quarantine::unsafe_never) {
    return go(Step::adopting);
  }
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
    case Step::reading:
      return judge(
          now, reply.type == Type::string ? std::optional<std::string>(reply.text) : std::nullopt);
    case Step::adopting:
      if (!done) return go(Step::reading);
      return enrol_as(now, wanted_);
    case Step::replacing:
      if (!done) return go(Step::reading);
      why_ = "is being enrolled anew, with other terms";
      return go(Step::applying);
    case Step::applying: return on_candidate(now, reply);
    case Step::claiming:
      if (reply.type != Type::status) return rest(now, Step::waiting, why_);
      to_repair_ = !planted(Mutant::no_repair);
      go(Step::repairing);
      if (planted(Mutant::no_repair)) repaired(0, 0);
      return;
    case Step::yielding: return rest(now, Step::waiting, why_);
    case Step::enrolling:
      if (!done) return go(Step::applying);
      candidate_.clear();
      candidates_policy_.reset();
      other_max_ttl_ = {};
      enrol_as(now, wanted_);
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
  other_max_ttl_ = std::max(other_max_ttl_, wait);
  go(Step::replacing);
}

/// Builds our candidate. If its wait is longer than its max_ttl, it contains the wait, so that a
/// client that adopts the candidate waits as long.
std::string Enrolment::new_candidate() {
  EnrolmentCandidate candidate{wanted(), nonce(random_), 0, known_};
  if (other_max_ttl_ > config_.max_ttl) {
    candidate.wait_ms = std::chrono::ceil<std::chrono::milliseconds>(other_max_ttl_).count();
  }
  return candidate.to_string();
}

/// The time to live of a candidate, in ms, after the last look at it. A waiting client looks at it
/// every second, so it lives for as long as any client waits.
std::string Enrolment::candidate_life() const {
  const core::Duration wait = std::max(config_.max_ttl, other_max_ttl_);
  return std::to_string((2 * wait + std::chrono::minutes(1)) / std::chrono::milliseconds(1));
}

/// Reads the candidate script's reply: {1, the record of this run} or {2, the current candidate}.
void Enrolment::on_candidate(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2 ||
      reply.elements[1].type != Reply::Type::string) {
    return refuse(now, Vote::failed, "cannot be enrolled: it answers with something else");
  }
  const std::string text(reply.elements[1].text);
  if (reply.elements[0].integer == 1) return judge(now, text);
  const auto candidate = EnrolmentCandidate::parse(text).value_or(EnrolmentCandidate());
  EnrolmentTerms its = candidate.record.terms;
  const core::Duration wait =
      std::chrono::milliseconds(std::max(its.max_ttl_ms, candidate.wait_ms));
  candidates_policy_ = its.policy;
  const EnrolmentTerms ours = wanted().terms;
  its.policy = ours.policy;  // the record's policy is decided when it is written
  if (its != ours) {
    ripe_ = false;
    if (config_.changes_terms) return change_terms(candidate_key, text, wait);
    const TermsDifference what(its, ours);
    return refuse(now, what.vote,
                  "is being enrolled as " + words_of(reply.elements[1]) + what.of_a_candidate());
  }
  // The wait goes on if the candidate is still the one that it began with: if the node had
  // forgotten anything since, the candidate would be another.
  const auto without_mark = [](std::string_view one) {
    return one.ends_with(known_mark) ? one.substr(0, one.size() - known_mark.size()) : one;
  };
  const bool same = without_mark(text) == without_mark(candidate_);
  candidate_ = text;
  if (!same) {
    const core::Duration longest = std::max(wait, other_max_ttl_);
    until_ = now + longest + core::margin(longest, config_.drift_factor);
    if (planted(Mutant::quarantine_too_short)) until_ = now + longest / 2;
    if (planted(Mutant::quarantine_by_a_fast_clock)) {
      until_ = now + longest - core::margin(longest, config_.drift_factor);
    }
    if (planted(Mutant::repair_before_quarantine)) {
      wanted_.clear();
      return go(Step::claiming);
    }
  }
  if (planted(Mutant::repair_before_quarantine) && now >= until_ && !wanted_.empty()) {
    return go(Step::enrolling);
  }
  ripe_ = now >= until_;
  if (ripe_ && (config_.groups.empty() || vouched_ || own_word_)) return go(Step::claiming);
  if (ripe_) {
    return rest(now, Step::waiting, std::string(nobody_vouches));
  }
  rest(now, Step::waiting, why_);
  next_look_ = std::min(next_look_, until_);
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
  go(step_ == Step::waiting && !hopes_ ? Step::applying : Step::reading);
}

void Enrolment::look_again(Time now) {
  if (next_look_ != core::never && step_ != Step::enrolled) advance(std::max(now, next_look_));
}

void Enrolment::repaired(std::uint64_t floor, std::int64_t since) {
  if (step_ != Step::repairing) return;
  EnrolmentRecord record = wanted();
  record.floor = floor;
  record.since = since;
  wanted_ = record.to_string();
  if (planted(Mutant::repair_before_quarantine)) {
    go(Step::waiting);
    next_look_ = until_;
    return;
  }
  write(Step::enrolling);
}

void Enrolment::repair_failed() {
  if (step_ == Step::repairing) go(Step::yielding);
}

bool Enrolment::take_repair() {
  return std::exchange(to_repair_, false);
}

bool Enrolment::take_command(std::string& out) {
  if (!std::exchange(to_send_, false)) return false;
  switch (step_) {
    case Step::reading: append_command(out, {"GET", enrolment_key}); break;
    case Step::adopting:
      call(out, adopt_script, {enrolment_key, candidate_key}, {expected_, wanted_});
      break;
    case Step::replacing:
      call(out, replace_script, {replaced_key_, candidate_key},
           {expected_, new_candidate(), candidate_life()});
      break;
    case Step::applying:
      call(out, candidate_script, {enrolment_key, candidate_key},
           {facts_.run_id, new_candidate(), candidate_life()});
      break;
    case Step::claiming:
      mark_ = nonce(random_);
      append_command(out, {"SET", repairer_key, mark_, "NX", "PX", repairer_ms});
      break;
    case Step::yielding: call(out, release_script, {repairer_key}, {mark_}); break;
    case Step::enrolling:
      call(out, enrol_script, {enrolment_key, candidate_key, repairer_key}, {wanted_, candidate_});
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
    case Step::applying: return candidate_.empty() ? Standing::unknown : Standing::waiting;
    case Step::idle:
    case Step::reading:
    case Step::adopting:
    case Step::replacing: return Standing::unknown;
  }
  return Standing::unknown;
}

}  // namespace quorumlock::redis
