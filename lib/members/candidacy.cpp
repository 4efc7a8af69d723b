#include "members/candidacy.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "lock/mutants.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/endpoint.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

using core::Mutant;
using core::planted;
using core::Time;
using Standing = NodeEnrolment::Standing;

/// The time between two looks at a node that does not vote: another client may have enrolled it.
constexpr core::Duration between_looks = std::chrono::seconds(1);

constexpr std::string_view awaits =
    ", and waits for a client with an operator's rights, which this user has not: quorumlock "
    "enroll --watch";

void call(std::string& out, const Script& script, std::initializer_list<std::string_view> keys,
          std::initializer_list<std::string_view> arguments) {
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVAL", script.source, count};
  words.insert(words.end(), keys);
  words.insert(words.end(), arguments);
  append_command(out, words);
}

}  // namespace

EnrolmentRecord Candidacy::wanted(const Membership& as) const {
  EnrolmentRecord record;
  record.run_id = facts_.run();
  record.nonce = planted(Mutant::candidate_without_nonce) ? "1" : nonce(random_);
  record.groups = config_.groups;
  record.members = as.mark();
  return record;
}

/// The candidate that we would put on the node.
std::string Candidacy::proposal() const {
  const core::Duration least = facts_.outlives_failover
                                   ? ruling_.quarantine() + *facts_.outlives_failover
                                   : ruling_.forgotten;
  return wait_.propose(wanted(*ruling_.founded), least);
}

void Candidacy::go(State state) {
  state_ = state;
  command_ = true;
  if (state == State::claiming) check_ = true;  // the run may have another name by now
  next_look_ = core::never;
}

void Candidacy::rest(Time now, State state, std::string why) {
  go(state);
  why_ = std::move(why);
  next_look_ = now + between_looks;
}

void Candidacy::begin(std::string why, SharedMembership remembered) {
  wait_.remember(std::move(remembered));
  why_ = std::move(why);
  go(State::applying);
}

void Candidacy::replace(std::string_view key, std::string_view from, core::Duration wait) {
  key_ = key;
  from_ = from;
  wait_.lengthen(wait);
  go(is_tenant() ? State::applying : State::replacing);
}

void Candidacy::refuse(Time now, Vote vote, std::string why) {
  vote_ = vote;
  awaits_operator_ = false;
  rest(now, State::refused, std::move(why));
}

void Candidacy::leave() {
  go(State::none);
  command_ = false;
}

void Candidacy::end() {
  leave();
  wait_.remember(nullptr);
  awaits_operator_ = false;
}

void Candidacy::disconnected() {
  wait_.disconnected();
  allowed_ = Allowed::untried;
  awaits_operator_ = repair_ = check_ = times_ = false;
}

/// Takes how long the node has to wait, as far as the others have said.
void Candidacy::expect(Time now) {
  const bool changed = wait_.expect(ruling_.quarantine() +
                                    facts_.outlives_failover.value_or(core::Duration::zero()));
  if (state_ != State::waiting) return;
  if (changed) next_look_ = std::min(next_look_, std::max(now, wait_.until()));
  // A node that only waited for this need not wait for its next look.
  if (wait_.ripe() && ruling_.admitted) next_look_ = std::min(next_look_, now);
}

bool Candidacy::take_command(Time now, std::string& out) {
  if (!std::exchange(command_, false)) return false;
  switch (state_) {
    case State::replacing:
      call(out, replace_script, {key_, candidate_key}, {from_, proposal(), CandidateWait::life});
      return true;
    case State::applying:
      if (!ruling_.admitted) {
        const auto [vote, why] = wait_.refusal(ruling_.founded->to, config_.named);
        if (!why.empty()) {
          refuse(now, vote, why);
          return false;
        }
      }
      if (allowed_ == Allowed::none) {
        leave_to_others(now);
        return false;
      }
      if (allowed_ == Allowed::to_look) {
        append_command(out, {"GET", candidate_key});
        return true;
      }
      wait_.asks(now);
      call(out, candidate_script, {enrolment_key, candidate_key},
           {wait_.patience(), facts_.run(), proposal(), CandidateWait::life});
      return true;
    case State::naming:
      call(out, witness_script, {candidate_key}, {wait_.text(), to_, CandidateWait::life});
      return true;
    case State::claiming:
      mark_ = nonce(random_);
      append_command(out, {"SET", repairer_key, mark_, "NX", "PX", repairer_ms});
      return true;
    case State::yielding: call(out, release_script, {}, {repairer_key, mark_}); return true;
    case State::enrolling: {
      const auto age = std::chrono::ceil<std::chrono::microseconds>(wait_.age()).count();
      call(out, enrol_script, {enrolment_key, candidate_key, repairer_key, members_key},
           {std::to_string(age), to_, wait_.text(), as_.text()});
      return true;
    }
    default: return false;  // there is nothing to ask
  }
}

void Candidacy::on_reply(Time now, const Reply& reply) {
  const bool done = reply.type == Reply::Type::integer && reply.integer == 1;
  switch (state_) {
    case State::replacing:
      if (!done) return go(State::over);
      if (config_.changes_groups) why_ = "is being enrolled anew, for other groups";
      if (key_ == enrolment_key) wait_.remember(nullptr);
      return go(State::applying);
    case State::applying:
      if (!is_tenant()) return on_candidate(now, reply);
      // The candidate of a client that may enrol the node, if there is one.
      begun_by_another_ = reply.type == Reply::Type::string;
      reads(EnrolmentCandidate::parse(reply.text).value_or(EnrolmentCandidate()), 0);
      return leave_to_others(now);
    case State::naming:
      if (!done) return go(State::applying);
      wait_.names(to_);
      rest(now, State::waiting, why_);
      return name_times();
    case State::claiming:
      if (reply.type != Reply::Type::status) return rest(now, State::waiting, why_);
      repair_ = true;
      return go(State::repairing);
    case State::yielding:
      if (is_tenant()) return leave_to_others(now);
      return rest(now, State::waiting, why_);
    case State::enrolling:
      if (!done) {
        // Our mark must not keep us and others from the next try for as long as it lives.
        wait_.doubt();
        return go(State::yielding);
      }
      ++enrolments_;
      wait_.end();
      return go(State::won);
    default: return;  // nothing was asked
  }
}

void Candidacy::on_error(Time now, std::string_view text) {
  const bool is_about_keys = state_ != State::none && refuses_keys(text);
  if (is_about_keys && !planted(Mutant::refused_write_repeated)) {
    // The node does not let our user touch its keys.
    allowed_ = is_tenant() ? Allowed::none : Allowed::to_look;
    news_ = true;
    wait_.forget();
    return go(State::applying);
  }
  Vote vote = is_about_keys ? Vote::unauthorized : vote_of_error(text);
  // These votes are about locks.
  if (vote == Vote::held || vote == Vote::no_script) vote = Vote::failed;
  refuse(now, vote, "cannot be enrolled: " + std::string(text));
}

/// Another client has to enrol the node. Its record is read again now and then.
void Candidacy::leave_to_others(Time now) {
  awaits_operator_ = true;
  rest(now, State::waiting, why_ + std::string(awaits));
}

void Candidacy::reads(const EnrolmentCandidate& candidate, std::int64_t time) {
  const std::optional<MembersMark> before = wait_.mark();
  wait_.reads(candidate, time);
  news_ = news_ || before != wait_.mark();
}

/// The candidate script replies {1, the record of this run}, or {2, the current candidate, TIME}.
void Candidacy::on_candidate(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() < 2 ||
      reply.elements.size() != static_cast<std::size_t>(reply.elements[0].integer + 1) ||
      reply.elements[1].type != Reply::Type::string) {
    return refuse(now, Vote::failed, "cannot be enrolled: it answers with something else");
  }
  news_ = news_ || allowed_ == Allowed::untried;
  allowed_ = Allowed::to_enrol;
  const std::string text(reply.elements[1].text);
  if (reply.elements[0].integer == 1) return go(State::over);
  const std::optional<EnrolmentCandidate> candidate = EnrolmentCandidate::parse(text);
  if (!candidate) {
    wait_.forget();
    if (config_.changes_groups) return replace(candidate_key, text, {});
    return refuse(
        now, Vote::failed,
        "cannot be enrolled: its candidate cannot be read: " + words_of(reply.elements[1]));
  }
  const std::chrono::milliseconds wait(candidate->wait_ms);
  if (candidate->record.groups != config_.groups) {
    wait_.forget();
    if (config_.changes_groups) return replace(candidate_key, text, wait);
    return refuse(now, Vote::groups_differ,
                  "is being enrolled as " + words_of(reply.elements[1]) +
                      being_enrolled_for_groups(config_.groups));
  }
  reads(*candidate, reply.elements[2].integer);
  if (other_founding(now, *candidate, text)) return;
  wait_.stands(now, text, wait, config_.drift_factor);
  if (wait_.was_replaced()) check_ = true;
  wait_.look(now);
  wait_.weigh(now, nodes());
  const bool ripe = wait_.ripe();
  times_ = !ripe;
  if (ripe) news_ = true;  // the others may have to be looked at before they can vouch
  if (wait_.has_waited() && ruling_.admitted) return go(State::claiming);
  if (ripe) return rest(now, State::waiting, ruling_.why_not);
  rest(now, State::waiting, why_);
  next_look_ = std::min(next_look_, wait_.until());
  name_times();
}

/// Whether this candidate has another founding than ours while the list is being founded. Of two
/// foundings the smaller one stays, and the wait of its candidates begins again.
bool Candidacy::other_founding(Time now, const EnrolmentCandidate& candidate,
                               const std::string& text) {
  const MembersMark& its = candidate.record.members;
  if (!ruling_.founds || its.founding == 0) return false;
  const MembersMark ours = ruling_.founded->mark();
  if (its == ours) return false;
  const bool smaller = its.founding < ours.founding;
  // The user will propose this founding, too.
  if (its.digest == ours.digest && (smaller || !ruling_.begun)) return false;
  wait_.forget();
  if (!smaller || (config_.changes_groups && its.digest != ours.digest)) {
    replace(candidate_key, text, std::chrono::milliseconds(candidate.wait_ms));
  } else {
    rest(
        now, State::waiting,
        "is being enrolled in another list of nodes, or with another max_ttl or fencing_memory, by "
        "another client: all clients must have the same");
  }
  return true;
}

/// Adds TIMEs of other nodes that the candidate lacks.
void Candidacy::name_times() {
  std::optional<std::string> named = wait_.with_times();
  if (!named) return;
  to_ = *std::move(named);
  go(State::naming);
}

void Candidacy::hears_time(Time now, std::string_view nonce, const std::string& name,
                           std::int64_t time) {
  wait_.hears(nonce, name, time);
  if (state_ != State::waiting || is_tenant()) return;
  if (wait_.weigh(now, nodes())) {
    news_ = true;
    next_look_ = now;
  } else {
    name_times();
  }
}

void Candidacy::advance(Time now) {
  if (now < next_look_) return;
  go(state_ == State::waiting && !is_tenant() ? State::applying : State::over);
}

void Candidacy::repaired(const Membership& as, std::uint64_t floor, std::int64_t since) {
  if (state_ != State::repairing) return;
  // The list may have become one for which the node has to wait longer, while it was repaired.
  if (!wait_.has_waited()) return go(State::yielding);
  EnrolmentRecord record = wanted(as);
  record.nonce = planted(Mutant::record_without_nonce) ? "0" : wait_.nonce();
  record.floor = floor;
  record.since = since;
  as_ = as;
  to_ = record.to_string();
  go(State::enrolling);
}

void Candidacy::repair_failed(bool refused, const std::string& why) {
  if (state_ != State::repairing) return;
  if (refused) allowed_ = Allowed::to_look;
  if (!why.empty()) why_ = why;
  go(State::yielding);
}

bool Candidacy::is_at_work() const {
  switch (state_) {
    case State::applying:
    case State::naming:
    case State::claiming:
    case State::repairing:
    case State::yielding:
    case State::enrolling: return true;
    case State::waiting: return wait_.ripe() && ruling_.admitted;
    default: return false;
  }
}

Standing Candidacy::standing() const {
  if (awaits_operator_) return Standing::quarantined;
  switch (state_) {
    case State::refused: return Standing::refused;
    case State::waiting:
    case State::naming:
    case State::claiming:
    case State::repairing:
    case State::yielding:
    case State::enrolling: return Standing::quarantined;
    case State::applying: return wait_.text().empty() ? Standing::unknown : Standing::quarantined;
    default: return Standing::unknown;
  }
}

Vote Candidacy::vote() const {
  // Only what it remembers may be unclear: the list of a record that is there is certain.
  const bool unclear =
      vote_ == Vote::nodes_differ && wait_.remembered() != nullptr && ruling_.perhaps_ours;
  return state_ == State::refused && !unclear ? vote_ : Vote::quarantined;
}

}  // namespace quorumlock::redis
