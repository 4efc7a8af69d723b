#include "members/enrolment.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "verbs/keys.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

using core::Time;

/// Why a node without a record of its present run may have forgotten locks. `has_text`: something
/// stands in the place of its record. `same_server`: it names this run of the server.
std::string why_forgetful(bool has_text, bool has_record, bool same_server) {
  if (!has_text) return "has no enrolment: it is new, or has forgotten everything";
  if (!has_record) return "has an enrolment that cannot be read";
  if (same_server) return "was made a replica, so its data is a copy of another server's";
  return "has been restarted";
}

}  // namespace

void Enrolment::go(State state) {
  news_ = news_ || is_enrolled() || state == State::enrolled;
  state_ = state;
  command_ = state == State::reading;
  next_check_ = core::never;
  if (state == State::enrolled) candidacy_.end();
  if (state == State::idle || state == State::reading) candidacy_.leave();
}

void Enrolment::greeted(Time now, ServerFacts facts, const RecordTexts& texts) {
  facts_ = std::move(facts);
  candidacy_.expect(now);
  judge(now, texts);
}

/// Decides what to do about a node with these texts.
void Enrolment::judge(Time now, const RecordTexts& texts) {
  const auto refuse = [&](Vote vote, std::string why) {
    candidacy_.refuse(now, vote, std::move(why));
    take_over(now);
  };
  const std::optional<std::string>& text = texts.record;
  if (config_.only_looks) return refuse(Vote::quarantined, "is only looked at");
  std::optional<EnrolmentRecord> record = text ? EnrolmentRecord::parse(*text) : std::nullopt;
  std::optional<Membership> membership =
      record ? Membership::parse(texts.members.value_or(""), record->members) : std::nullopt;
  // A record with the name of another database came here by SWAPDB, or was copied.
  const bool moved = membership && database_of(membership->name) != database_of(config_.node);
  if (moved) membership.reset();
  if (!membership) record.reset();
  if (facts_.run_id.empty()) {
    const std::string words = facts_.no_info.empty() ? "" : " (" + facts_.no_info + ")";
    return refuse(Vote::unauthorized,
                  "does not tell its run id and its role" + words + ": let this user call INFO");
  }
  const bool again = found_ == text.value_or("");
  found_ = text.value_or("");
  own_word_ = record && record->groups == config_.groups;
  if (record && !own_word_) {
    if (!config_.changes_groups) {
      return refuse(Vote::groups_differ, enrolled_for_groups(record->groups, config_.groups));
    }
    const std::string why_not = why_groups_stay(*membership, ruling_.founded->to);
    if (!why_not.empty()) return refuse(Vote::nodes_differ, why_not);
    candidacy_.replace(enrolment_key, found_, membership->longest_max_ttl());
    return take_over(now);
  }
  if (record && is_this_run(record->run_id, facts_.run())) {
    return enrol_as(now, *text, *record, *membership);
  }
  const bool same_server = text && is_this_run(text->substr(0, text->find(':')), facts_.run_id);
  candidacy_.begin(why_forgetful(!!text, !!record, same_server),
                   membership ? std::make_shared<Membership>(*membership) : nullptr);
  // A record that cannot be read, or is older than the last promotion, must not stay: others would
  // believe it. If it is newer than our greeting, the check ends the connection before it is judged
  // again.
  if (same_server && (!record || state_ == State::idle || again)) {
    candidacy_.replace(enrolment_key, found_,
                       membership ? membership->longest_max_ttl() : core::Duration::zero());
  } else {
    check_ = check_ || same_server;
  }
  take_over(now);
}

/// Takes over what the candidacy has come to.
void Enrolment::take_over(Time now) {
  switch (candidacy_.state()) {
    case Candidacy::State::none: return;
    case Candidacy::State::over: return go(State::reading);
    case Candidacy::State::won:
      return enrol_as(now, candidacy_.record(), *EnrolmentRecord::parse(candidacy_.record()),
                      candidacy_.membership());
    default:
      if (state_ != State::candidate) go(State::candidate);
  }
}

/// The node is enrolled with this record, which has our groups; `text` is the record's text.
void Enrolment::enrol_as(Time now, const std::string& text, const EnrolmentRecord& record,
                         const Membership& membership) {
  if (!membership_ || *membership_ != membership) {
    membership_ = std::make_shared<Membership>(membership);
  }
  record_ = text;
  floor_ = record.floor;
  since_ = record.since;
  go(State::enrolled);
  if (facts_.outlives_failover) next_check_ = now + config_.between_checks;
}

void Enrolment::disconnected() {
  go(State::idle);
  candidacy_.disconnected();
  check_ = judged_ = reading_again_ = false;
}

void Enrolment::doubt() {
  reading_again_ = is_enrolled();
  if (!is_enrolled()) return;
  candidacy_.because("does not have the enrolment that it had");
  go(State::reading);
}

void Enrolment::on_reply(Time now, const Reply& reply) {
  if (state_ == State::idle) return;
  if (reply.type == Reply::Type::error) {
    candidacy_.on_error(now, reply.text);
  } else if (is_reading()) {
    return judge(now, texts_of(reply));
  } else {
    candidacy_.on_reply(now, reply);
  }
  take_over(now);
}

void Enrolment::advance(Time now) {
  if (now < deadline()) return;
  if (is_enrolled()) {
    check_ = true;
    next_check_ = now + config_.between_checks;
    return;
  }
  candidacy_.advance(now);
  take_over(now);
}

void Enrolment::look_at(Time now, ServerFacts facts) {
  facts_ = std::move(facts);
  if (is_enrolled() && facts_.outlives_failover) next_check_ = now + config_.between_checks;
}

void Enrolment::follow(Time now, Ruling ruling) {
  const bool decided = !ruling.undecided;
  if (decided) {
    refusal_ = ruling.refusal;
    vote_ = ruling.vote;
  }
  ruling.ever = ruling.ever || ruling_.ever;
  ruling_ = std::move(ruling);
  candidacy_.expect(now);
  if (is_enrolled() && ruling_.outdated && !candidacy_.is_tenant()) {
    candidacy_.because("has a record that no change of the nodes takes along");
    candidacy_.replace(enrolment_key, record_, membership_->longest_max_ttl());
    take_over(now);
  }
  if (decided) judged_ = is_enrolled();
}

bool Enrolment::update() {
  const bool of_candidacy = candidacy_.take_news();
  const bool news = std::exchange(news_, false) || of_candidacy;
  if (news) judged_ = false;
  if (news && is_enrolled()) {
    own_words_.clear();
    append_word(own_words_, record_);
    append_word(own_words_, std::to_string(floor_));
    append_number(own_words_, membership_->longest_memory() / std::chrono::milliseconds(1));
    append_number(own_words_, membership_->shortest_memory() / std::chrono::milliseconds(1));
  }
  return news;
}

bool Enrolment::end_reading() {
  if (is_reading() || (is_enrolled() && !judged_)) return false;
  return std::exchange(reading_again_, false);
}

bool Enrolment::take_command(Time now, std::string& out) {
  if (!is_reading()) return candidacy_.take_command(now, out);
  const bool due = std::exchange(command_, false);
  if (due) append_command(out, {"MGET", enrolment_key, members_key});
  return due;
}

bool Enrolment::take_check() {
  const bool of_candidacy = candidacy_.take_check();
  return std::exchange(check_, false) || of_candidacy;
}

Vote Enrolment::vote() const {
  if (barred()) return barred_;
  return judged_ && !refusal_.empty() ? vote_ : candidacy_.vote();
}

std::string Enrolment::why(Time now) const {
  // While the record is read again the last ruling stands.
  if (judged_ || (reading_again_ && !refusal_.empty())) return refusal_;
  std::string text = candidacy_.why();
  if (now < wait().until()) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(wait().until() - now);
    text += "; at most " + std::to_string(left.count()) + " s left";
  }
  return text;
}

}  // namespace quorumlock::redis
