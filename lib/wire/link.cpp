#include "wire/link.hpp"

#include <algorithm>
#include <utility>

#include "lock/mutants.hpp"
#include "verbs/vote.hpp"

namespace quorumlock::redis {

using core::LinkState;
using core::Time;

namespace {

/// The least time between two questions whether a server takes writes.
constexpr core::Duration between_questions = std::chrono::seconds(1);

/// Returns the error that a reply is or, of a batch, that it has for one of its locks; else null.
const Reply* error_in(const Reply& reply) {
  if (reply.type == Reply::Type::error) return &reply;
  if (reply.type != Reply::Type::array) return nullptr;
  const auto found = std::ranges::find(reply.elements, Reply::Type::error, &Reply::type);
  return found == reply.elements.end() ? nullptr : &*found;
}

}  // namespace

Link::Link(Config config, core::Random& random)
    : RespWire(std::move(config.endpoint), config.largest_reply),
      attempts_(config.connect_timeout, random),
      greeting_({endpoint().login, endpoint().db, endpoint().sentinels.has_value(),
                 std::move(config.needs), config.enrolment.only_looks}),
      orphan_(config.node_timeout),
      enrolment_(std::move(config.enrolment), random),
      pipeline_(config.node_timeout, config.connect_timeout) {}

void Link::start(Time now) {
  if (state_ == State::stopped) open(now);
}

void Link::open(Time now) {
  state_ = State::opening;
  last_error_.clear();
  attempts_.begin(now);
  events_.push(Connect{});
}

void Link::on_handshake() {
  if (state_ == State::opening) state_ = State::shaking_hands;
}

void Link::on_open() {
  if (state_ != State::opening && state_ != State::shaking_hands) return;
  state_ = State::greeting;
  begin_connection();
  enrolment_.begin();
  greeting_.begin(output_buffer());
}

/// Takes a reply before the link is up.
void Link::on_early_reply(Time now, const Reply& reply) {
  if (reply.type == Reply::Type::error) last_error_ = greeting_.said(reply);
  if (auto refusal = greeting_.refusal_in(reply)) {
    return fail(now, refusal->vote, std::move(refusal->why));
  }
  if (greeting_.is_asking()) {
    if (auto trouble = greeting_.on_reply(reply)) {
      if (trouble->vote != Vote::pending) return fail(now, trouble->vote, std::move(trouble->why));
      trouble_ = std::move(trouble->why);
    }
    if (greeting_.is_asking()) return;
    state_ = State::greeted;
    events_.push(Greeted{});
  } else if (orphan_.is_asked()) {
    if (orphan_.on_reply(reply)) return enrol(now);
    wait_for_orphan(now, greeting_.said(reply));
  } else if (asks_early_) {
    asks_early_ = false;
    on_enrolments_reply(now, reply);
    update(now);
  } else {
    fail(now, Vote::failed, "sent a reply that nobody asked for");
  }
}

/// The server is identified. Commands that our lost connection left unanswered must not run after
/// anything we send now.
void Link::admit(Time now) {
  if (state_ != State::greeted) return;
  if (!orphan_.may_be_on(greeting_.facts().run_id)) return enrol(now);
  state_ = State::killing;
  if (!orphan_.kill(output_buffer().text())) wait_for_orphan(now, "it did not report our number");
}

/// Waits, because the old connection may still be there and cannot be killed.
void Link::wait_for_orphan(Time now, const std::string& why) {
  note(Orphan::why_it_waits(why));
  attempts_.extend(orphan_.wait(now));
}

void Link::bar(Time now, Vote reason, std::string why) {
  enrolment_.bar(reason);
  trouble_ = std::move(why);
  if (state_ == State::greeted) return admit(now);
  announce();
}

void Link::enrol(Time now) {
  state_ = State::enrolling;
  orphan_.forget();
  enrolment_.greeted(now, greeting_.facts(), greeting_.texts());
  update(now);
}

/// Carries out what the enrolment asks for, and takes over its result.
void Link::update(Time now) {
  if (enrolment_.update()) events_.push(Enrolled{});
  if (enrolment_.end_reading()) send_held(now);
  const bool up = state_ == State::up;
  // The greeting has just reported the facts. Commands that wait for the record have to come last.
  const bool held = enrolment_.is_reading_again() && !enrolment_.is_reading();
  if (enrolment_.take_check() && up && !held) greeting_.ask_facts(now, output_buffer(), pipeline_);
  if (enrolment_.take_command(now, output_buffer().text())) {
    if (up) pipeline_.add(now, core::Tag(), true);
    asks_early_ = !up;
  }
  if (enrolment_.take_repair()) events_.push(Repair{});
  if (enrolment_.take_times()) events_.push(AskTimes{});
  if (up) {
    announce();
    return;
  }
  // The link must not come up while an answer is missing, since it would then not notice that the
  // answer does not come.
  if (asks_early_) return;
  if (enrolment_.is_known()) return come_up(now);
  if (enrolment_.is_enrolled()) attempts_.wait();
}

void Link::come_up(Time now) {
  state_ = State::up;
  pipeline_.begin(now);
  if (greeting_.writes_refused()) ask_again_ = now + between_questions;
  if (!enrolment_.barred()) trouble_.clear();
  attempts_.succeed(now);
  announce();
  for (const Pipeline::HeldBack& held : pipeline_.take_held()) {
    send(now, held.command.tag, held.bytes);
  }
  log_in_again(now);
}

/// The record has been read again, and the other nodes' records have been compared with it.
void Link::send_held(Time now) {
  announce();
  // Nothing else is unanswered, since the record was asked for before these commands came.
  for (const Pipeline::HeldBack& held : pipeline_.take_held()) {
    const core::Tag& tag = held.command.tag;
    if (!enrolment_.allows(tag.kind)) {
      events_.push(Answered{tag, {reason()}, nullptr});
      continue;
    }
    pipeline_.resume(held);
    enrolment_.append(output_buffer().text(), tag.kind, held.bytes);
  }
  log_in_again(now);
}

void Link::log_in(Time now, const Login& login) {
  greeting_.set_login(login, connected());
  log_in_again(now);
}

/// Logs in on the present connection. This waits while the connection is being greeted, and while
/// commands wait for the record: those commands have to come last.
void Link::log_in_again(Time now) {
  if (state_ != State::up || enrolment_.is_reading_again()) return;
  greeting_.log_in_again(now, output_buffer(), pipeline_);
}

void Link::on_no_login(Time now, std::string_view why) {
  if (state_ == State::opening) fail(now, Vote::unauthorized, std::string(why));
}

void Link::follow(Time now, Ruling ruling) {
  const bool known = !ruling.undecided;
  enrolment_.follow(now, std::move(ruling));
  if (known && (state_ == State::enrolling || state_ == State::up)) update(now);
}

NodeRecord Link::record() const {
  NodeRecord record;
  const Enrolment& its = enrolment_;
  record.knows_groups = its.knows_groups();
  if (enrolment_.barred()) return record;
  const bool enrolled = enrolment_.is_enrolled() || enrolment_.is_reading_again();
  if (enrolled) record.membership = its.membership();
  if (!enrolled) record.remembered = its.wait().remembered();
  record.candidate = its.wait().mark();
  if (record.candidate) record.nonce = its.wait().nonce();
  record.ripe = its.ripe();
  record.ripe_since = its.wait().until();
  record.seen = its.wait().seen();
  record.expected = attempts_.is_first() && !enrolled;
  record.unheard = state() == core::LinkState::connecting || state() == core::LinkState::down;
  return record;
}

void Link::doubt(Time now) {
  if (state_ != State::up || enrolment_.is_reading_again()) return;
  enrolment_.doubt();
  update(now);
}

void Link::look_again(Time now) {
  if (state_ != State::up) return;
  const Time look = enrolment().deadline();
  if (!enrolment_.is_enrolled() && look != core::never) enrolment_.advance(std::max(now, look));
  update(now);
}

void Link::ask_facts(Time now) {
  if (state_ != State::up) return;
  // A node that is late gets no more questions, and commands that wait for the record come last.
  if (pipeline_.is_stalled() || enrolment_.is_reading_again()) {
    ask_again_ = now + between_questions;
    return;
  }
  asked_facts_ = now;
  ask_again_ = core::never;
  greeting_.ask_facts(now, output_buffer(), pipeline_);
}

/// A command of a user was refused as every write may be.
void Link::ask_facts_soon(Time now) {
  ask_again_ = std::min(ask_again_, std::max(now, asked_facts_ + between_questions));
  if (now >= ask_again_) ask_facts(now);
}

void Link::repaired(Time now, const Membership& as, std::uint64_t floor, std::int64_t since) {
  enrolment_.repaired(as, floor, since);
  update(now);
}

void Link::repair_failed(Time now, bool refused, const std::string& why) {
  enrolment_.repair_failed(refused, why);
  update(now);
}

void Link::hears_time(Time now, std::string_view nonce, const std::string& name,
                      std::int64_t time) {
  if (state_ != State::up) return;
  enrolment_.hears_time(now, nonce, name, time);
  update(now);
}

void Link::on_closed(Time now, std::string_view why) {
  std::string sentence(why);
  const bool idle = state_ == State::up && pipeline_.empty();
  // A server that turns a connection away says why as if it answered the first command.
  if (state_ != State::up && !last_error_.empty()) {
    sentence = "answered " + last_error_ + " (then: " + sentence + ')';
  }
  // A server's port for TLS ends a connection at the first byte of a command, and some proxies do
  // at a command that they do not know.
  if (state_ == State::greeting && greeting_.is_silent() && !endpoint().tls &&
      endpoint().path.empty()) {
    sentence +=
        " before its first answer: if this is its TLS port, write rediss://; if it is a proxy, "
        "name the server behind it";
  }
  fail(now, Vote::unreachable, std::move(sentence));
  ended_idle_ = idle;
}

void Link::on_handshake_failed(Time now, std::string_view why) {
  fail(now, Vote::tls_failed, std::string(why));
}

/// Ends the connection, or the attempt at one, if there is any.
void Link::fail(Time now, Vote reason, std::string why) {
  if (state_ == State::stopped || state_ == State::resting) return;
  const bool was_up = state_ == State::up;
  ended_idle_ = false;
  if (was_up && !pipeline_.empty()) {
    orphan_.leave(greeting_.facts().run_id, greeting_.client_id());
  }
  const bool news = !was_up && attempts_.fail(now, why);
  trouble_ = std::move(why);
  events_.push(Disconnect{});
  state_ = State::resting;
  end_connection();
  attempts_.end(now);
  greeting_.end();
  orphan_.disconnected();
  enrolment_.disconnected();
  pipeline_.end();
  ask_again_ = core::never;
  asks_early_ = false;
  down_reason_ = reason;
  // The state change comes before the answers, so that they cause no new commands to this node.
  if (!announce() && news) events_.push(StillDown{});
  while (!pipeline_.empty()) {
    const Pipeline::Command lost = pipeline_.drop();
    if (lost.own) continue;
    events_.push(Answered{lost.tag, {was_up ? Vote::disconnected : reason}, nullptr});
  }
}

void Link::stop(Time now) {
  fail(now, Vote::unreachable, "closed");
  attempts_.stop();
  state_ = State::stopped;
}

void Link::send(Time now, const core::Tag& tag, std::string_view bytes) {
  if (state_ == State::up && is_flooded()) {
    fail(now, Vote::unreachable, "does not read what it is sent");
  }
  const bool first = attempts_.is_first() && state_ != State::stopped;
  if (first || enrolment_.is_reading_again()) return pipeline_.hold(now, tag, bytes);
  if (state_ != State::up || !enrolment_.allows(tag.kind)) {
    events_.push(Answered{tag, {reason()}, nullptr});
    return;
  }
  enrolment_.append(output_buffer().text(), tag.kind, bytes);
  pipeline_.add(now, tag);
}

void Link::advance(Time now) {
  if (attempts_.is_overdue(now)) {
    std::string why = not_in_time();
    if (!last_error_.empty()) why += "; it answered " + last_error_;
    if (state_ != State::shaking_hands) return fail(now, Vote::unreachable, why);
    return fail(now, Vote::tls_failed, why + " in the TLS handshake: does this port speak TLS?");
  }
  if (attempts_.is_due(now)) return open(now);
  if (now >= orphan_.deadline()) return enrol(now);
  if (state_ != State::up) return;
  if (now >= enrolment().deadline()) {
    enrolment_.advance(now);
    update(now);
  }
  if (now >= ask_again_) ask_facts(now);
  while (pipeline_.has_overdue(now)) {
    const bool first = !pipeline_.is_stalled();
    // Has nothing come in since the first command after an idle time?
    if (first && pipeline_.follows_idleness() && !reader().has_unread() &&
        !core::planted(core::Mutant::idle_connection_trusted)) {
      fail(
          now, Vote::unreachable,
          "no answer within node_timeout on a connection that had been idle, and that something on "
          "the path may have forgotten");
      attempts_.forgive();
      return open(now);
    }
    if (first) trouble_ = "no answer within node_timeout";
    const Pipeline::Command overdue = pipeline_.next_overdue(now);
    announce();
    if (!overdue.own) events_.push(Late{overdue.tag});
  }
  // After such a silence the path may be dead without either end knowing: try a new connection.
  if (pipeline_.is_dead(now)) {
    fail(now, Vote::unreachable, "no answer for node_timeout and connect_timeout together");
  }
}

Time Link::deadline() const {
  const Time due = std::min(attempts_.deadline(), orphan_.deadline());
  if (state_ != State::up) return due;
  return std::min({due, enrolment().deadline(), pipeline_.deadline(), ask_again_});
}

Link::Event* Link::next(Time now) {
  for (;;) {
    if (!events_.empty()) {
      event_ = events_.pop();
      return &event_;
    }
    if (!connected()) return nullptr;
    const Reply* reply = reader().next();
    if (reply == nullptr) {
      if (reader().broken().empty()) return nullptr;
      fail(now, Vote::failed, "sent what is not a reply: " + reader().broken());
      continue;
    }
    if (state_ != State::up) {
      on_early_reply(now, *reply);
      continue;
    }
    if (pipeline_.empty()) {
      fail(now, Vote::failed, "sent a reply that nobody asked for");
      continue;
    }
    const bool was_stalled = pipeline_.is_stalled();
    const Pipeline::Command answered = pipeline_.answer(now);
    // The reason for a bar must not be overwritten by an error reply, nor by one that only says
    // what this user may not do.
    const Reply* const error = error_in(*reply);
    const bool counts =
        !answered.own && core::asks_for_votes(answered.tag.kind) && !enrolment_.barred();
    if (error != nullptr && counts) trouble_ = greeting_.said(*error);
    if (was_stalled && !pipeline_.is_stalled()) announce();
    if (answered.own) {
      on_own_reply(now, answered.tag, *reply);
      continue;
    }
    core::Answer& answer = event_.emplace<Answered>(answered.tag, *reply).answer;
    answer.asked = answered.sent;
    if (answer.vote == Vote::failed && reply->type != Reply::Type::error) {
      trouble_ = "gave an answer that does not belong to the question";
    }
    if (answer.vote == Vote::not_enrolled) doubt(now);
    const Vote vote = error == nullptr ? Vote::pending : vote_of_error(error->text);
    if (vote == Vote::refuses_writes || vote == Vote::unauthorized) ask_facts_soon(now);
    return &event_;
  }
}

/// Takes the answer to a command of the enrolment. An error may quote our password.
void Link::on_enrolments_reply(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::error) return enrolment_.on_reply(now, reply);
  Reply shown = reply;
  const std::string said = greeting_.said(reply);
  shown.text = said;
  enrolment_.on_reply(now, shown);
}

/// Takes the answer to a command of the link's own on a connection that is up.
void Link::on_own_reply(Time now, const core::Tag& tag, const Reply& reply) {
  if (!Greeting::is_later_question(tag)) {
    on_enrolments_reply(now, reply);
  } else if (Greeting::is_login(tag)) {
    if (const auto refused = greeting_.on_login_reply(now, reply, pipeline_)) note(*refused);
  } else {
    const Vote before = reason();
    if (const auto trouble = greeting_.on_later_reply(tag, reply)) {
      return fail(now, trouble->vote, trouble->why);
    }
    if (reason() != before) events_.push(Writes{});
    if (Greeting::completes_facts(tag)) {
      ask_again_ = greeting_.writes_refused() ? now + between_questions : core::never;
      enrolment_.look_at(now, greeting_.facts());
    }
  }
  update(now);
}

/// Reports the link's state to the engine if it has changed. Returns whether it has.
bool Link::announce() {
  const bool up = state_ == State::up;
  if (enrolment_.is_reading_again() && up && !pipeline_.is_stalled()) return false;
  LinkState state = LinkState::up;
  Vote reason = Vote::pending;
  if (!up) {
    state = LinkState::down;
    reason = down_reason_;
  } else if (pipeline_.is_stalled()) {
    state = LinkState::stalled;
    reason = Vote::stalled;
  } else if (!enrolment_.votes()) {
    state = LinkState::quarantined;
    reason = enrolment_.vote();
  }
  if (state == announced_.state && reason == announced_.reason) return false;
  announced_ = {state, reason};
  events_.push(Changed{state, state == LinkState::up ? this->reason() : reason});
  return true;
}

std::string Link::trouble(Time now) const {
  if (refuses_writes()) return greeting_.writes_refused()->why;
  const bool is_its_own =
      state_ != State::up || pipeline_.is_stalled() || enrolment_.barred() || enrolment_.votes();
  return is_its_own ? trouble_ : enrolment_.why(now);
}

}  // namespace quorumlock::redis
