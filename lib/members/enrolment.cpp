#include "members/enrolment.hpp"

#include <algorithm>
#include <utility>

#include "lock/mutants.hpp"
#include "verbs/keys.hpp"
#include "verbs/vote.hpp"
#include "wire/endpoint.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

using core::Time;

/// The time between two looks at a node that does not vote: another client may have enrolled it.
constexpr core::Duration between_looks = std::chrono::seconds(1);

constexpr std::string_view awaits =
    ", and waits for a client with an operator's rights, which this user has not: quorumlock "
    "enroll --watch";

/// Why a node without a record of its present run may have forgotten locks. `has_text`: something
/// stands in the place of its record.
std::string why_forgetful(const ServerFacts& facts, bool has_text,
                          const std::optional<EnrolmentRecord>& record) {
  if (!has_text) return "has no enrolment: it is new, or has forgotten everything";
  if (!record) return "has an enrolment that cannot be read";
  if (is_this_run(record->run_id, facts.run_id)) {
    return "was made a replica, so its data is a copy of another server's";
  }
  return "has been restarted";
}

}  // namespace

EnrolmentRecord Enrolment::wanted(const Membership& as) const {
  EnrolmentRecord record;
  record.run_id = facts_.run();
  record.nonce = nonce(random_);
  record.groups = config_.groups;
  record.members = as.mark();
  return record;
}

/// The node is enrolled with this record, which has our groups; `text` is the record's text.
void Enrolment::enrol_as(Time now, const std::string& text, const EnrolmentRecord& record,
                         const Membership& membership) {
  SharedMembership its = enrolled_.membership;
  if (!its || *its != membership) its = std::make_shared<Membership>(membership);
  awaits_operator_ = false;
  enrolled_ = {
      .record = text, .membership = std::move(its), .floor = record.floor, .since = record.since};
  go(Step::enrolled);
  if (facts_.outlives_failover) next_look_ = now + config_.between_checks;
}

void Enrolment::go(Step step) {
  outputs_.news = outputs_.news || (step_ == Step::enrolled) != (step == Step::enrolled) ||
                  step == Step::enrolled;
  step_ = step;
  outputs_.command = true;
  if (step == Step::claiming) outputs_.check = true;  // the run may have another name by now
  next_look_ = core::never;
}

void Enrolment::rest(Time now, Step step, std::string why) {
  go(step);
  not_voting_.why = std::move(why);
  next_look_ = now + between_looks;
}

void Enrolment::refuse(Time now, Vote vote, std::string why) {
  not_voting_.vote = vote;
  awaits_operator_ = false;
  rest(now, Step::refused, std::move(why));
}

void Enrolment::greeted(Time now, ServerFacts facts, const RecordTexts& texts) {
  facts_ = std::move(facts);
  expect(now);
  judge(now, texts);
}

void Enrolment::follow(Time now, Ruling ruling) {
  ruling.ever = ruling.ever || ruling_.ever;
  ruling_ = std::move(ruling);
  expect(now);
  if (step_ == Step::enrolled && ruling_.outdated && !is_tenant()) {
    not_voting_.why = "has a record that no change of the nodes takes along";
    replace(enrolment_key, enrolled_.record, enrolled_.membership->longest_max_ttl());
  }
  // A node that only waited for this need not wait for its next look.
  if (step_ == Step::waiting && candidacy_.ripe() && ruling_.admitted)
    next_look_ = std::min(next_look_, now);
}

/// Takes how long the node has to wait, as far as the others have said.
void Enrolment::expect(Time now) {
  const bool changed = candidacy_.expect(ruling_.quarantine() +
                                         facts_.outlives_failover.value_or(core::Duration::zero()));
  if (changed && step_ == Step::waiting) {
    next_look_ = std::min(next_look_, std::max(now, candidacy_.until()));
  }
}

void Enrolment::disconnected() {
  go(Step::idle);
  candidacy_.disconnected();
  right_ = Right::untried;
  awaits_operator_ = false;
  outputs_ = {.news = outputs_.news};
}

void Enrolment::doubt() {
  if (step_ != Step::enrolled) return;
  not_voting_.why = "does not have the enrolment that it had";
  go(Step::reading);
}

/// Decides what to do about a node with these texts.
void Enrolment::judge(Time now, const RecordTexts& texts) {
  const std::optional<std::string>& text = texts.record;
  if (config_.only_looks) return refuse(now, Vote::quarantined, "is only looked at");
  std::optional<EnrolmentRecord> record = text ? EnrolmentRecord::parse(*text) : std::nullopt;
  std::optional<Membership> membership =
      record ? Membership::parse(texts.members.value_or(""), record->members) : std::nullopt;
  // A record with the name of another database came here by SWAPDB, or was copied.
  const bool moved = membership && database_of(membership->name) != database_of(config_.node);
  if (moved) membership.reset();
  if (!membership) record.reset();
  if (facts_.run_id.empty()) {
    const std::string words = facts_.no_info.empty() ? "" : " (" + facts_.no_info + ")";
    return refuse(now, Vote::unauthorized,
                  "does not tell its run id and its role" + words + ": let this user call INFO");
  }
  const bool again = change_.from == text.value_or("");
  change_.from = text.value_or("");
  own_word_ = record && record->groups == config_.groups;
  if (record && !own_word_) {
    if (config_.changes_groups) {
      const std::string why_not = why_groups_stay(*membership, ruling_.founded->to);
      if (!why_not.empty()) return refuse(now, Vote::nodes_differ, why_not);
      return replace(enrolment_key, *text, membership->longest_max_ttl());
    }
    return refuse(now, Vote::groups_differ, enrolled_for_groups(record->groups, config_.groups));
  }
  const bool this_run = record && is_this_run(record->run_id, facts_.run());
  candidacy_.remember(this_run || !membership ? nullptr
                                              : std::make_shared<Membership>(*membership));
  if (this_run) return enrol_as(now, *text, *record, *membership);
  const bool same_server = text && is_this_run(text->substr(0, text->find(':')), facts_.run_id);
  not_voting_.why = why_forgetful(facts_, !!text, record);
  // A record that cannot be read, or is older than the last promotion, must not stay: others would
  // believe it. If it is newer than our greeting, the check ends the connection before it is judged
  // again.
  const bool wrong = same_server && (!record || step_ == Step::idle || again);
  if (wrong) {
    return replace(enrolment_key, *text,
                   membership ? membership->longest_max_ttl() : core::Duration::zero());
  }
  outputs_.check = outputs_.check || same_server;
  go(Step::applying);
}

void Enrolment::on_reply(Time now, const Reply& reply) {
  using Type = Reply::Type;
  if (reply.type == Type::error && step_ != Step::idle) {
    if (step_ != Step::reading && refuses_keys(reply.text)) return on_refusal(now, reply);
    Vote vote = vote_of_error(reply.text);
    // These votes are about locks.
    if (vote == Vote::held || vote == Vote::no_script) vote = Vote::failed;
    return refuse(now, vote, "cannot be enrolled: " + std::string(reply.text));
  }
  const bool done = reply.type == Type::integer && reply.integer == 1;
  switch (step_) {
    case Step::reading: return judge(now, texts_of(reply));
    case Step::replacing:
      if (!done) return go(Step::reading);
      if (config_.changes_groups) not_voting_.why = "is being enrolled anew, for other groups";
      if (change_.key == enrolment_key) candidacy_.remember(nullptr);
      return go(Step::applying);
    case Step::applying: return is_tenant() ? on_look(now, reply) : on_candidate(now, reply);
    case Step::claiming:
      if (reply.type != Type::status) return rest(now, Step::waiting, not_voting_.why);
      outputs_.repair = true;
      return go(Step::repairing);
    case Step::naming:
      if (!done) return go(Step::applying);
      candidacy_.names(change_.to);
      rest(now, Step::waiting, not_voting_.why);
      return name_times();
    case Step::yielding:
      if (is_tenant()) return leave_to_others(now);
      return rest(now, Step::waiting, not_voting_.why);
    case Step::enrolling:
      if (!done) {
        // Our mark must not keep us and others from the next try for as long as it lives.
        candidacy_.doubt();
        return go(Step::yielding);
      }
      ++enrolments_;
      candidacy_.end();
      return enrol_as(now, change_.to, *EnrolmentRecord::parse(change_.to), change_.as);
    default: return;  // nothing was asked
  }
}

/// Replaces the text `from` under this key. Locks that were granted by it may last for `wait`.
void Enrolment::replace(std::string_view key, std::string_view from, core::Duration wait) {
  change_.key = key;
  change_.from = from;
  candidacy_.lengthen(wait);
  go(is_tenant() ? Step::applying : Step::replacing);
}

/// The node does not let our user touch its keys.
void Enrolment::on_refusal(Time now, const Reply& reply) {
  if (planted(core::Mutant::refused_write_repeated)) {
    return refuse(now, Vote::unauthorized, "cannot be enrolled: " + std::string(reply.text));
  }
  right_ = is_tenant() ? Right::none : Right::to_look;
  outputs_.news = true;
  candidacy_.forget();
  go(Step::applying);
}

/// The reply to GET is the candidate of a client that may enrol the node, if there is one.
void Enrolment::on_look(Time now, const Reply& reply) {
  begun_by_another_ = reply.type == Reply::Type::string;
  const std::optional<MembersMark> before = candidacy_.mark();
  candidacy_.reads(EnrolmentCandidate::parse(reply.text).value_or(EnrolmentCandidate()), 0);
  outputs_.news = outputs_.news || before != candidacy_.mark();
  leave_to_others(now);
}

/// Another client has to enrol the node. Its record is read again now and then.
void Enrolment::leave_to_others(Time now) {
  awaits_operator_ = true;
  rest(now, Step::waiting, not_voting_.why + std::string(awaits));
}

/// The candidate script replies {1, the record of this run}, or {2, the current candidate, TIME}.
void Enrolment::on_candidate(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() < 2 ||
      reply.elements.size() != static_cast<std::size_t>(reply.elements[0].integer + 1) ||
      reply.elements[1].type != Reply::Type::string) {
    return refuse(now, Vote::failed, "cannot be enrolled: it answers with something else");
  }
  outputs_.news = outputs_.news || right_ == Right::untried;
  right_ = Right::to_enrol;
  const std::string text(reply.elements[1].text);
  if (reply.elements[0].integer == 1) return go(Step::reading);
  const std::optional<EnrolmentCandidate> read = EnrolmentCandidate::parse(text);
  if (!read) {
    candidacy_.forget();
    if (config_.changes_groups) return replace(candidate_key, text, {});
    return refuse(
        now, Vote::failed,
        "cannot be enrolled: its candidate cannot be read: " + words_of(reply.elements[1]));
  }
  const EnrolmentCandidate& candidate = *read;
  const std::chrono::milliseconds wait(candidate.wait_ms);
  const std::optional<MembersMark> before = candidacy_.mark();
  candidacy_.reads(candidate, reply.elements[2].integer);
  if (candidate.record.groups != config_.groups) {
    candidacy_.forget();
    if (config_.changes_groups) return replace(candidate_key, text, wait);
    return refuse(now, Vote::groups_differ,
                  "is being enrolled as " + words_of(reply.elements[1]) +
                      being_enrolled_for_groups(config_.groups));
  }
  outputs_.news = outputs_.news || before != candidacy_.mark();
  if (other_founding(now, candidate, text)) return;
  candidacy_.stands(now, text, wait, config_.drift_factor);
  if (candidacy_.was_replaced()) outputs_.check = true;
  candidacy_.look(now);
  candidacy_.weigh(now, nodes());
  const bool ripe = candidacy_.ripe();
  outputs_.times = !ripe;
  if (ripe) outputs_.news = true;  // the others may have to be looked at before they can vouch
  if (candidacy_.has_waited() && ruling_.admitted) return go(Step::claiming);
  if (ripe) return rest(now, Step::waiting, ruling_.why_not);
  rest(now, Step::waiting, not_voting_.why);
  next_look_ = std::min(next_look_, candidacy_.until());
  name_times();
}

/// Adds TIMEs of other nodes that the candidate lacks.
void Enrolment::name_times() {
  std::optional<std::string> named = candidacy_.with_times();
  if (!named) return;
  change_.to = *std::move(named);
  go(Step::naming);
}

void Enrolment::hears_time(Time now, std::string_view nonce, const std::string& name,
                           std::int64_t time) {
  candidacy_.hears(nonce, name, time);
  if (step_ != Step::waiting || is_tenant()) return;
  if (candidacy_.weigh(now, nodes())) {
    outputs_.news = true;
    next_look_ = now;
  } else {
    name_times();
  }
}

bool Enrolment::is_at_work() const {
  switch (step_) {
    case Step::applying:
    case Step::naming:
    case Step::claiming:
    case Step::repairing:
    case Step::yielding:
    case Step::enrolling: return true;
    case Step::waiting: return candidacy_.ripe() && ruling_.admitted;
    default: return false;
  }
}

/// Whether this candidate has another founding than ours while the list is being founded. Of two
/// foundings the smaller one stays, and the wait of its candidates begins again.
bool Enrolment::other_founding(Time now, const EnrolmentCandidate& candidate,
                               const std::string& text) {
  const MembersMark& its = candidate.record.members;
  if (!ruling_.founds || its.founding == 0) return false;
  const MembersMark ours = ruling_.founded->mark();
  if (its == ours) return false;
  const bool smaller = its.founding < ours.founding;
  // The user will propose this founding, too.
  if (its.digest == ours.digest && (smaller || !ruling_.begun)) return false;
  candidacy_.forget();
  if (!smaller || (config_.changes_groups && its.digest != ours.digest)) {
    replace(candidate_key, text, std::chrono::milliseconds(candidate.wait_ms));
  } else {
    rest(
        now, Step::waiting,
        "is being enrolled in another list of nodes, or with another max_ttl or fencing_memory, by "
        "another client: all clients must have the same");
  }
  return true;
}

void Enrolment::advance(Time now) {
  if (now < next_look_) return;
  if (step_ == Step::enrolled) {
    outputs_.check = true;
    next_look_ = now + config_.between_checks;
    return;
  }
  go(step_ == Step::waiting && !is_tenant() ? Step::applying : Step::reading);
}

void Enrolment::done(const Done& what) {
  if (step_ != Step::repairing) return;
  const auto* const repaired = std::get_if<Repaired>(&what);
  if (repaired == nullptr) {
    const auto& failed = std::get<RepairFailed>(what);
    if (failed.refused) right_ = Right::to_look;
    if (!failed.why.empty()) not_voting_.why = failed.why;
    return go(Step::yielding);
  }
  // The list may have become one for which the node has to wait longer, while it was repaired.
  if (!candidacy_.has_waited()) return go(Step::yielding);
  EnrolmentRecord record = wanted(repaired->as);
  record.nonce = core::planted(core::Mutant::record_without_nonce) ? "0" : candidacy_.nonce();
  record.floor = repaired->floor;
  record.since = repaired->since;
  change_.as = repaired->as;
  change_.to = record.to_string();
  go(Step::enrolling);
}

void Enrolment::look_at(Time now, ServerFacts facts) {
  facts_ = std::move(facts);
  if (step_ == Step::enrolled && facts_.outlives_failover)
    next_look_ = now + config_.between_checks;
}

bool Enrolment::take_command(Time now, std::string& out) {
  if (!std::exchange(outputs_.command, false)) return false;
  const auto proposal = [this] {
    const core::Duration least = facts_.outlives_failover
                                     ? ruling_.quarantine() + *facts_.outlives_failover
                                     : ruling_.forgotten;
    return candidacy_.propose(wanted(*ruling_.founded), least);
  };
  switch (step_) {
    case Step::reading: read_texts(out); break;
    case Step::replacing: change_.replace(out, proposal(), Candidacy::life); break;
    case Step::applying:
      if (!ruling_.admitted) {
        if (const auto [vote, why] = candidacy_.refusal(ruling_.founded->to, config_.named);
            !why.empty()) {
          refuse(now, vote, why);
          return false;
        }
      }
      if (right_ == Right::to_look) {
        append_command(out, {"GET", candidate_key});
        break;
      }
      if (right_ == Right::none) {
        leave_to_others(now);
        return false;
      }
      candidacy_.asks(now);
      offer(out, candidacy_.patience(), facts_.run(), proposal(), Candidacy::life);
      break;
    case Step::naming: change_.witness(out, candidacy_.text(), Candidacy::life); break;
    case Step::claiming: change_.claim(out, random_); break;
    case Step::yielding: change_.yield(out); break;
    case Step::enrolling: change_.enrol(out, candidacy_.text(), candidacy_.age()); break;
    default: return false;  // there is nothing to ask
  }
  return true;
}

Enrolment::Standing Enrolment::standing() const {
  if (awaits_operator_) return Standing::waiting;
  switch (step_) {
    case Step::enrolled: return Standing::enrolled;
    case Step::refused: return Standing::refused;
    case Step::waiting:
    case Step::naming:
    case Step::claiming:
    case Step::repairing:
    case Step::yielding:
    case Step::enrolling: return Standing::waiting;
    case Step::applying: return candidacy_.text().empty() ? Standing::unknown : Standing::waiting;
    case Step::idle:
    case Step::reading:
    case Step::replacing: return Standing::unknown;
  }
  return Standing::unknown;
}

}  // namespace quorumlock::redis
