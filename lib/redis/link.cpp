#include "redis/link.hpp"

#include <algorithm>
#include <utility>

#include "core/mutants.hpp"
#include "redis/back_off.hpp"

namespace quorumlock::redis {

using core::Duration;
using core::LinkState;
using core::Time;

namespace {

/// After a node's first overdue command, further ones are reported in batches at this interval: a
/// node that stops with thousands of commands must not take a timer for each.
constexpr Duration batch_of_late = std::chrono::milliseconds(10);
/// The time between two log lines about the same failure to connect.
constexpr Duration between_failure_notes = std::chrono::minutes(1);
/// Bounds the memory for output to a node that sends replies but does not read its commands.
constexpr std::size_t most_unwritten = std::size_t{64} << 20;

/// Whether a command of this kind asks for a vote, so that only a node that votes may get it.
bool asks_vote(core::CommandKind kind) {
  return kind == core::CommandKind::set || says_enrolment(kind);
}

}  // namespace

Link::Answer::Answer(const core::Tag& to, const Reply& from) noexcept
    : tag(to), answer(answer_of(to.kind, from)), reply(&from) {}

Link::Link(Config config, core::Random& random)
    : config_(std::move(config)),
      random_(random),
      login_(config_.endpoint.login),
      reader_(config_.largest_reply),
      enrolment_(config_.enrolment, random) {}

void Link::start(Time now) {
  if (state_ == State::stopped) open(now);
}

void Link::open(Time now) {
  state_ = State::opening;
  shaking_hands_ = false;
  next_try_ = core::never;
  give_up_opening_ = now + config_.connect_timeout;
  events_.push(Connect{});
}

void Link::on_open() {
  if (state_ != State::opening) return;
  state_ = State::greeting;
  silent_ = true;
  reader_.reset();
  wipe(output_);
  written_ = 0;
  greet();
}

void Link::come_up(Time now) {
  state_ = State::up;
  heard_ = now;
  ever_up_or_failed_ = true;
  give_up_opening_ = core::never;
  back_off_ = Duration::zero();
  if (barred_ == Vote::pending) trouble_.clear();
  note(failures_ == 0 ? "connected"
                      : "connected after " + std::to_string(failures_) + " failed attempts");
  failures_ = 0;
  announce();
  for (const std::string& bytes : std::exchange(waiting_, {})) send(now, pending_.pop().tag, bytes);
  log_in_again(now);
}

void Link::on_closed(Time now, std::string_view why) {
  std::string sentence(why);
  // A server's port for TLS ends a connection at the first byte of a command.
  if (state_ == State::greeting && silent_ && !config_.endpoint.tls &&
      config_.endpoint.path.empty()) {
    sentence += " before its first answer: if this is its TLS port, write rediss://";
  }
  if (state_ == State::opening || connected()) fail(now, Vote::unreachable, std::move(sentence));
}

void Link::on_handshake_failed(Time now, std::string_view why) {
  if (state_ == State::opening || connected()) fail(now, Vote::tls_failed, std::string(why));
}

/// Ends the connection, or the attempt at one.
void Link::fail(Time now, Vote reason, std::string why) {
  const bool was_up = state_ == State::up;
  if (was_up && !pending_.empty()) orphan_id_ = std::max(client_id_, unknown_client);
  // The greeting was not completed: keep the run id of the connection before.
  if (state_ == State::greeting) facts_.run_id = std::move(run_before_);
  enrolment_.disconnected();
  judged_ = reading_again_ = false;
  if (was_up && !stopping_) note("lost: " + why);
  if (!was_up && !stopping_) note_failure(now, why);
  trouble_ = std::move(why);
  events_.push(Disconnect{});
  state_ = State::resting;
  ever_up_or_failed_ = true;
  give_up_opening_ = core::never;
  reader_.reset();
  wipe(output_);
  written_ = 0;
  waiting_.clear();
  while (!greetings_.empty()) greetings_.pop();
  go_on_ = core::never;

  late_ = 0;
  down_reason_ = reason;
  // The state change comes before the answers, so that they cause no new commands to this node.
  announce();
  while (!pending_.empty()) {
    const Pending lost = pending_.pop();
    if (!lost.own) events_.push(Answer{lost.tag, {was_up ? Vote::disconnected : reason}, nullptr});
  }
  back_off_ = std::clamp(2 * back_off_, first_back_off, longest_back_off);
  next_try_ = now + back_off_ / 2 + random_.below(back_off_ / 2);
}

void Link::on_bytes(std::string_view bytes) {
  if (connected()) reader_.feed(bytes);
}

void Link::send(Time now, const core::Tag& tag, std::string_view bytes) {
  if (state_ == State::up && output_.size() - written_ > most_unwritten) {
    fail(now, Vote::unreachable, "does not read what it is sent");
  }
  const bool first = !ever_up_or_failed_ && state_ != State::stopped;
  if (first || reading_again_) {
    waiting_.emplace_back(bytes);
  } else if (state_ != State::up || (asks_vote(tag.kind) && !votes())) {
    events_.push(Answer{tag, {reason_}, nullptr});
    return;
  } else {
    output_ += bytes;
    if (says_enrolment(tag.kind)) output_ += own_words_;
  }
  pending_.emplace(tag, now);
}

/// The record has been read again, and the other nodes' records have been compared with it.
void Link::end_reading(Time now) {
  if (!std::exchange(reading_again_, false)) return;
  announce();
  // Nothing else is unanswered, since the record was asked for before these commands came.
  const std::size_t late = std::exchange(late_, 0);
  const std::size_t count = pending_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Pending held = pending_.pop();
    if (asks_vote(held.tag.kind) && !votes()) {
      events_.push(Answer{held.tag, {reason_}, nullptr});
      continue;
    }
    if (i < late) ++late_;
    output_ += waiting_[i];
    if (says_enrolment(held.tag.kind)) output_ += own_words_;
    pending_.push(held);
  }
  waiting_.clear();
  log_in_again(now);
}

bool Link::votes() const {
  return barred_ == Vote::pending && judged_ && refusal_.empty();
}

/// Whether the oldest command was the first after an idle time, and nothing has come in since.
bool Link::may_be_forgotten() const {
  return pending_[0].sent >= heard_ + idle_may_be_forgotten && !reader_.has_unread() &&
         !core::planted(core::Mutant::idle_connection_trusted);
}

void Link::advance(Time now) {
  if (now >= give_up_opening_ && state_ == State::opening && shaking_hands_) {
    return fail(now, Vote::tls_failed,
                "no answer within connect_timeout in the TLS handshake: does this port speak TLS?");
  }
  if (now >= give_up_opening_) {
    return fail(now, Vote::unreachable, "no answer within connect_timeout");
  }
  if (now >= next_try_) return open(now);
  if (now >= go_on_) return enrol(now);
  if (state_ != State::up) return;
  if (now >= enrolment_.deadline()) {
    enrolment_.advance(now);
    follow_enrolment(now);
  }
  while (late_ < pending_.size() && now >= pending_[late_].sent + config_.node_timeout) {
    if (late_ == 0 && may_be_forgotten()) {
      fail(
          now, Vote::unreachable,
          "no answer within node_timeout on a connection that had been idle, and that something on "
          "the path may have forgotten");
      back_off_ = Duration::zero();
      return open(now);
    }
    if (late_ == 0) {
      stalled_since_ = now;
      trouble_ = "no answer within node_timeout";
      note("stalled: no answer within node_timeout");
    }
    const Pending overdue = pending_[late_++];
    announce();
    if (!overdue.own) events_.push(Late{overdue.tag});
    next_batch_ = now + batch_of_late;
  }
  // After such a silence the path may be dead without either end knowing: try a new connection.
  if (late_ > 0 && now >= stalled_since_ + config_.connect_timeout) {
    fail(now, Vote::unreachable, "no answer for node_timeout and connect_timeout together");
  }
}

Time Link::deadline() const {
  Time due = std::min({give_up_opening_, next_try_, go_on_});
  if (state_ != State::up) return due;
  due = std::min(due, enrolment_.deadline());
  if (late_ > 0) due = std::min(due, stalled_since_ + config_.connect_timeout);
  if (late_ < pending_.size()) {
    const Time overdue = pending_[late_].sent + config_.node_timeout;
    due = std::min(due, late_ > 0 ? std::max(overdue, next_batch_) : overdue);
  }
  return due;
}

void Link::stop(Time now) {
  if (state_ == State::stopped) return;
  stopping_ = true;
  if (state_ != State::resting) fail(now, Vote::unreachable, "closed");
  state_ = State::stopped;
  next_try_ = core::never;
}

Link::Event* Link::next(Time now) {
  for (;;) {
    if (!events_.empty()) {
      event_ = events_.pop();
      return &event_;
    }
    if (!connected()) return nullptr;
    const Reply* reply = reader_.next();
    if (reply == nullptr) {
      if (reader_.broken().empty()) return nullptr;
      fail(now, Vote::failed, "sent what is not a reply: " + reader_.broken());
      continue;
    }
    if (!greetings_.empty()) {
      on_greeting(now, *reply);
      continue;
    }
    if (pending_.empty()) {
      fail(now, Vote::failed, "sent a reply that nobody asked for");
      continue;
    }
    heard_ = now;
    if (late_ > 0) stalled_since_ = now;  // the node makes progress
    // The reason for a bar must not be overwritten by an error reply.
    if (reply->type == Reply::Type::error && !pending_[0].own && barred_ == Vote::pending) {
      trouble_ = said(*reply);
    }
    const Pending answered = pending_.pop();
    if (late_ > 0) {
      if (--late_ == 0) {
        note("answers again");
        announce();
      }
    }
    if (answered.own) {
      if (answered.tag.round != 0) {
        on_fact(now, answered.tag, *reply);
      } else {
        enrolment_.on_reply(now, *reply);
      }
      follow_enrolment(now);
      continue;
    }
    const core::CommandKind kind = answered.tag.kind;
    core::Answer& answer = event_.emplace<Answer>(answered.tag, *reply).answer;
    answer.asked = answered.sent;
    if (answer.vote == Vote::failed && reply->type != Reply::Type::error) {
      trouble_ = "gave an answer that does not belong to the question";
    }
    if (answer.vote == Vote::not_enrolled) {
      doubt(now);
    }
    // The user may have lost the right to DELEX or DELIFEQ; the release is retried as a script.
    if (kind == core::CommandKind::release &&
        (answer.vote == Vote::unauthorized || answer.vote == Vote::failed)) {
      deletion_ = Deletion::script;
    }
    return &event_;
  }
}

void Link::wrote(std::size_t bytes) {
  written_ += bytes;
  if (login_in_output_ && written_ == output_.size()) {
    login_in_output_ = false;
    wipe(output_);
    written_ = 0;
    return;
  }
  if (written_ <= output_.size() / 2) return;  // so less is moved than was written
  output_.erase(0, written_);
  written_ = 0;
}

/// Reports the link's state to the engine if it has changed.
void Link::announce() {
  if (reading_again_ && state_ == State::up && late_ == 0) return;
  LinkState state = LinkState::up;
  Vote reason = Vote::pending;
  if (state_ != State::up) {
    state = LinkState::down;
    reason = down_reason_;
  } else if (late_ > 0) {
    state = LinkState::stalled;
    reason = Vote::stalled;
  } else if (!votes()) {
    state = LinkState::quarantined;
    const bool refuses = judged_ && !refusal_.empty();
    reason = barred_ != Vote::pending ? barred_ : refuses ? refusing_ : enrolment_.vote();
  }
  if (state == announced_ && reason == reason_) return;
  if (state == LinkState::quarantined && reason != reason_) {
    note("does not vote: " + trouble(core::Time::max()));
  }
  announced_ = state;
  reason_ = reason;
  events_.push(Changed{state, reason});
}

std::string Link::trouble(Time now) const {
  if (state_ != State::up || late_ > 0 || barred_ != Vote::pending || votes()) return trouble_;
  if (judged_) return refusal_;
  std::string text = enrolment_.why();
  if (now < enrolment_.until()) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(enrolment_.until() - now);
    text += "; " + std::to_string(left.count()) + " s left";
  }
  return text;
}

/// Attempts at a node that is down fail about 1.5 times a second, mostly for the same reason: the
/// reason is logged at once, and then once per between_failure_notes.
void Link::note_failure(Time now, const std::string& why) {
  ++failures_;
  if (failures_ > 1 && why == failure_noted_ && now < next_failure_note_) return;
  failure_noted_ = why;
  next_failure_note_ = now + between_failure_notes;
  note("no connection: " + why +
       (failures_ == 1 ? "" : " (" + std::to_string(failures_) + " attempts so far)"));
}

void Link::note(std::string sentence) {
  events_.push(Note{config_.endpoint.name() + " " + std::move(sentence)});
}

}  // namespace quorumlock::redis
