#include "redis/enrolment.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "core/mutants.hpp"
#include "core/validity.hpp"
#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::redis {
namespace {

using core::Mutant;
using core::planted;
using core::Time;

/// How often a node that does not vote is looked at: somebody else may have enrolled it.
constexpr core::Duration between_looks = std::chrono::seconds(1);
/// For how long one client repairs before another may begin.
constexpr std::string_view repairer_ms = "10000";

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0;;) {
    const std::size_t colon = text.find(':', at);
    words.push_back(text.substr(at, colon - at));
    if (colon == text.npos) return words;
    at = colon + 1;
  }
}

template <class T>
bool read(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

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
constexpr auto all_the_same = ": all clients must name the same groups, and each node in its own";

std::string groups_in_words(const EnrolmentTerms& terms) {
  return terms.groups.empty() ? "one group alone" : "groups with the mark " + terms.groups;
}

void call(std::string& out, const Script& script, std::initializer_list<std::string_view> keys,
          std::initializer_list<std::string_view> arguments) {
  // Whole: it is rare, and the server may have forgotten its scripts with all else.
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVAL", script.source, count};
  words.insert(words.end(), keys);
  words.insert(words.end(), arguments);
  append_command(out, words);
}

}  // namespace

std::optional<EnrolmentTerms> EnrolmentTerms::parse(std::string_view text) {
  EnrolmentTerms terms;
  const std::size_t at = text.find('@');
  if (!read(text.substr(0, at), terms.max_ttl_ms) || terms.max_ttl_ms <= 0) return std::nullopt;
  if (at == text.npos) return terms;
  terms.groups = text.substr(at + 1);
  return terms.groups.empty() ? std::nullopt : std::optional(terms);
}

std::string EnrolmentTerms::to_string() const {
  return std::to_string(max_ttl_ms) + (groups.empty() ? "" : "@" + groups);
}

std::optional<EnrolmentRecord> EnrolmentRecord::parse(std::string_view text) {
  const std::vector<std::string_view> words = split(text);
  EnrolmentRecord record;
  if (words.size() != 3 && words.size() != 5) return std::nullopt;
  record.run_id = words[0];
  record.durable = words[2] == "durable";
  if (record.run_id.empty() || (!record.durable && words[2] != "volatile")) return std::nullopt;
  const std::optional<EnrolmentTerms> terms = EnrolmentTerms::parse(words[1]);
  if (!terms) return std::nullopt;
  record.terms = *terms;
  if (words.size() == 5 && !(read(words[3], record.floor) && read(words[4], record.since))) {
    return std::nullopt;
  }
  return record;
}

std::string EnrolmentRecord::to_string() const {
  std::string text = run_id + ':' + terms.to_string() + (durable ? ":durable" : ":volatile");
  if (floor != 0) text += ':' + std::to_string(floor) + ':' + std::to_string(since);
  return text;
}

EnrolmentRecord Enrolment::wanted() const {
  EnrolmentRecord record;
  record.run_id = facts_.run_id;
  record.terms.max_ttl_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(config_.max_ttl).count();
  record.terms.groups = config_.groups;
  record.durable = facts_.durable.value_or(false);
  return record;
}

void Enrolment::go(Step step) {
  step_ = step;
  to_send_ = step != Step::repairing && step != Step::enrolled && step != Step::waiting &&
             step != Step::refused && step != Step::idle;
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
  to_repair_ = ripe_ = false;
}

void Enrolment::doubt() {
  if (step_ != Step::enrolled) return;
  why_ = "does not have the enrolment that it had";
  go(Step::reading);
}

/// What is to be done about a node with this record.
void Enrolment::judge(Time now, const std::optional<std::string>& text) {
  const std::optional<EnrolmentRecord> record = text ? EnrolmentRecord::parse(*text) : std::nullopt;
  if (facts_.run_id.empty()) {
    return refuse(now, Vote::unauthorized,
                  "does not tell its run id: let this user call INFO server");
  }
  const EnrolmentRecord ours = wanted();
  expected_ = text.value_or("");
  own_word_ = record && record->terms == ours.terms;
  if (record && record->terms != ours.terms) {
    const std::int64_t its_max_ttl = record->terms.max_ttl_ms;
    if (config_.changes_terms) {
      return change_terms(enrolment_key, *text, std::chrono::milliseconds(its_max_ttl));
    }
    if (its_max_ttl == ours.terms.max_ttl_ms) {
      return refuse(now, Vote::groups_differ,
                    "is enrolled for " + groups_in_words(record->terms) + ", and ours are " +
                        groups_in_words(ours.terms) + all_the_same);
    }
    return refuse(now, Vote::max_ttl_differs,
                  "is enrolled with max_ttl " + std::to_string(its_max_ttl) + " ms, and ours is " +
                      std::to_string(ours.terms.max_ttl_ms) +
                      " ms: it must be the same for all clients");
  }
  if (record && record->run_id == facts_.run_id) {
    const bool no_longer = record->durable && facts_.durable == false;
    if (!no_longer) {
      record_ = *text;
      floor_ = record->floor;
      since_ = record->since;
      return go(Step::enrolled);
    }
  }
  EnrolmentRecord next = record.value_or(ours);
  next.run_id = facts_.run_id;
  next.durable = ours.durable && (!record || record->durable);
  const bool this_run = record && record->run_id == facts_.run_id;
  const bool remembers = config_.policy == Quarantine::automatic && record && record->durable &&
                         facts_.durable == true;
  const bool no_text = planted(Mutant::absent_taken_as_new) && !text;
  if (planted(Mutant::no_quarantine) || no_text || this_run || remembers ||
      config_.policy == Quarantine::unsafe_never) {
    wanted_ = next.to_string();
    return go(Step::adopting);
  }
  why_ = !text              ? "has no enrolment: it is new, or has forgotten everything"
         : !record          ? "has an enrolment that cannot be read"
         : !record->durable ? "has been restarted, and does not write every change to its disk"
         : facts_.durable != true
             ? "has been restarted, and is not known to write every change to its disk any more"
             : "has been restarted";
  go(Step::applying);
}

void Enrolment::on_reply(Time now, const Reply& reply) {
  using Type = Reply::Type;
  if (reply.type == Type::error && step_ != Step::idle) {
    Vote vote = vote_of_error(reply.text);
    if (vote == Vote::held || vote == Vote::no_script) vote = Vote::failed;  // no word of a lock
    return refuse(now, vote, "cannot be enrolled: " + words_of(reply));
  }
  const bool done = reply.type == Type::integer && reply.integer == 1;
  switch (step_) {
    case Step::reading:
      return judge(
          now, reply.type == Type::string ? std::optional<std::string>(reply.text) : std::nullopt);
    case Step::adopting:
      if (!done) return go(Step::reading);
      record_ = wanted_;
      floor_ = EnrolmentRecord::parse(record_)->floor;
      since_ = EnrolmentRecord::parse(record_)->since;
      return go(Step::enrolled);
    case Step::replacing:
      if (!done) return go(Step::reading);
      why_ = "is being enrolled anew, with another max_ttl or for other groups";
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
      record_ = wanted_;
      candidate_.clear();
      other_max_ttl_ = {};
      return go(Step::enrolled);
    case Step::idle:
    case Step::waiting:
    case Step::repairing:
    case Step::enrolled:
    case Step::refused: return;
  }
}

/// What stands under this key has other terms, and its locks may last for `wait`.
void Enrolment::change_terms(std::string_view key, std::string_view from, core::Duration wait) {
  replaced_key_ = key;
  expected_ = from;
  other_max_ttl_ = std::max(other_max_ttl_, wait);
  go(Step::replacing);
}

/// With how long it has to wait behind, where that is longer than its max_ttl, for who adopts it.
std::string Enrolment::new_candidate() {
  std::string text = wanted().to_string() + ':' + nonce(random_);
  if (other_max_ttl_ <= config_.max_ttl) return text;
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(other_max_ttl_);
  return text + ':' + std::to_string(wait.count());
}

/// {1, the record of this run} or {2, the candidate that stands}.
void Enrolment::on_candidate(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2 ||
      reply.elements[1].type != Reply::Type::string) {
    return refuse(now, Vote::failed, "cannot be enrolled: it answers with something else");
  }
  const std::string text(reply.elements[1].text);
  if (reply.elements[0].integer == 1) return judge(now, text);
  const std::vector<std::string_view> words = split(text);
  std::int64_t wait_ms = 0;
  const bool readable = words.size() == 4 || (words.size() == 5 && read(words[4], wait_ms));
  const EnrolmentTerms ours = wanted().terms;
  const EnrolmentTerms its =
      readable ? EnrolmentTerms::parse(words[1]).value_or(EnrolmentTerms()) : EnrolmentTerms();
  const core::Duration wait = std::chrono::milliseconds(std::max(its.max_ttl_ms, wait_ms));
  if (its != ours) {
    ripe_ = false;
    if (config_.changes_terms) return change_terms(candidate_key, text, wait);
    const std::string being = "is being enrolled as " + words_of(reply.elements[1]);
    if (its.max_ttl_ms == ours.max_ttl_ms) {
      return refuse(
          now, Vote::groups_differ,
          being + " by a client with other groups than " + groups_in_words(ours) + all_the_same);
    }
    return refuse(now, Vote::max_ttl_differs,
                  being + " by a client with another max_ttl than our " +
                      std::to_string(ours.max_ttl_ms) + " ms: it must be the same for all clients");
  }
  // The wait goes on where the candidate is still the one that it began with: had the node
  // forgotten anything since, it would be another.
  if (text != candidate_) {
    candidate_ = text;
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
  go(step_ == Step::waiting ? Step::applying : Step::reading);
}

void Enrolment::look_again(Time now) {
  if (next_look_ != core::never) advance(std::max(now, next_look_));
}

void Enrolment::repaired(std::uint64_t floor, std::int64_t since) {
  if (step_ != Step::repairing) return;
  EnrolmentRecord record = wanted();
  record.floor = floor_ = floor;
  record.since = since_ = since;
  wanted_ = record.to_string();
  if (planted(Mutant::repair_before_quarantine)) {
    go(Step::waiting);
    next_look_ = until_;
    return;
  }
  go(Step::enrolling);
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
    case Step::adopting: call(out, adopt_script, {enrolment_key}, {expected_, wanted_}); break;
    case Step::replacing:
      call(out, replace_script, {replaced_key_, candidate_key}, {expected_, new_candidate()});
      break;
    case Step::applying:
      call(out, candidate_script, {enrolment_key, candidate_key}, {facts_.run_id, new_candidate()});
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
