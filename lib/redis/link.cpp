#include "redis/link.hpp"

#include <algorithm>
#include <utility>

#include "redis/scripts.hpp"

namespace quorumlock::redis {

using core::Duration;
using core::LinkState;
using core::Time;

namespace {

constexpr Duration first_back_off = std::chrono::milliseconds(20);
constexpr Duration longest_back_off = std::chrono::seconds(1);
/// Of a node that is overdue already, the commands behind the first are reported in batches: a
/// node that stops with thousands of them must not take a timer for each.
constexpr Duration batch_of_late = std::chrono::milliseconds(10);

/// The value behind "name:" on a line of its own in an INFO reply; empty if there is none.
std::string_view info_field(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const std::size_t end = std::min(info.find('\n'), info.size());
    std::string_view line = info.substr(0, end);
    info.remove_prefix(std::min(end + 1, info.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

Link::Link(Config config, core::Random& random) : config_(std::move(config)), random_(random) {}

void Link::start(Time now) {
  if (state_ == State::stopped) open(now);
}

void Link::open(Time now) {
  state_ = State::opening;
  next_try_ = core::never;
  give_up_opening_ = now + config_.connect_timeout;
  events_.push(Connect{});
}

void Link::on_open() {
  if (state_ != State::opening) return;
  state_ = State::greeting;
  reader_.reset();
  output_.clear();
  written_ = 0;
  greet();
}

void Link::greet() {
  const auto ask = [this](Greeting greeting, std::initializer_list<std::string_view> words) {
    greetings_.push(greeting);
    append_command(output_, words);
  };
  const Endpoint& to = config_.endpoint;
  client_id_ = -1;
  greeted_run_id_.clear();
  if (!to.user.empty()) {  // an ACL user may have no password
    ask(Greeting::auth, {"AUTH", to.user, to.password});
  } else if (!to.password.empty()) {
    ask(Greeting::auth, {"AUTH", to.password});
  }
  if (to.db != 0) ask(Greeting::select, {"SELECT", std::to_string(to.db)});
  ask(Greeting::client_id, {"CLIENT", "ID"});
  ask(Greeting::role, {"INFO", "replication"});
  ask(Greeting::script, {"SCRIPT", "LOAD", release_script.source});
  ask(Greeting::script, {"SCRIPT", "LOAD", renew_script.source});
  ask(Greeting::server, {"INFO", "server"});
}

void Link::on_greeting(Time now, const Reply& reply) {
  const Greeting greeting = greetings_.pop();
  const bool error = reply.type == Reply::Type::error;
  // A command that this user may not call is no reason to refuse the node: what it would have
  // told stays unknown. That the node lets nobody in is.
  if (error && greeting != Greeting::auth && reply.text.starts_with("NOAUTH")) {
    return fail(now, Vote::unauthorized, "wants a password: " + std::string(reply.text));
  }
  switch (greeting) {
    case Greeting::auth:
      if (error)
        return fail(now, Vote::unauthorized, "refused to log us in: " + std::string(reply.text));
      break;
    case Greeting::select:
      if (error) return fail(now, Vote::failed, "refused SELECT: " + std::string(reply.text));
      break;
    case Greeting::client_id:
      if (reply.type == Reply::Type::integer) client_id_ = reply.integer;
      break;
    case Greeting::role:
      if (reply.type == Reply::Type::string && info_field(reply.text, "role") == "slave") {
        return fail(now, Vote::not_standalone, "is a replica: name standalone servers only");
      }
      break;
    case Greeting::server:
      if (reply.type == Reply::Type::string) {
        if (info_field(reply.text, "redis_mode") == "cluster") {
          return fail(now, Vote::not_standalone,
                      "runs in cluster mode: name standalone servers only");
        }
        greeted_run_id_ = info_field(reply.text, "run_id");
      }
      return finish_greeting(now);
    case Greeting::script: break;
    case Greeting::kill: return come_up(now);
  }
}

/// Who it is is known. Commands that a lost connection left unanswered must not run after what is
/// sent now; if this is still the same run of the server, killing that connection sees to it. In
/// another run they are gone, and the id may be somebody else's by now.
void Link::finish_greeting(Time now) {
  const bool same_run = !run_id_.empty() && greeted_run_id_ == run_id_;
  run_id_ = greeted_run_id_;
  if (!same_run || orphan_id_ < 0) return come_up(now);
  state_ = State::killing;
  greetings_.push(Greeting::kill);
  append_command(output_, {"CLIENT", "KILL", "ID", std::to_string(orphan_id_)});
}

void Link::come_up(Time now) {
  state_ = State::up;
  ever_up_or_failed_ = true;
  orphan_id_ = -1;
  give_up_opening_ = core::never;
  back_off_ = Duration::zero();
  trouble_.clear();
  output_ += std::exchange(waiting_, {});
  for (std::size_t i = 0; i < pending_.size(); ++i) pending_[i].sent = now;
  note("connected");
  set_state(LinkState::up, Vote::pending);
}

void Link::on_closed(Time now, std::string_view why) {
  if (state_ == State::opening || connected()) fail(now, Vote::unreachable, std::string(why));
}

/// The connection, or the attempt at one, is over.
void Link::fail(Time now, Vote reason, std::string why) {
  const bool was_up = state_ == State::up;
  if (was_up && !pending_.empty()) orphan_id_ = client_id_;
  if (!stopping_) note((was_up ? "lost: " : "no connection: ") + why);
  trouble_ = std::move(why);
  events_.push(Disconnect{});
  state_ = State::resting;
  ever_up_or_failed_ = true;
  give_up_opening_ = core::never;
  reader_.reset();
  output_.clear();
  written_ = 0;
  waiting_.clear();
  while (!greetings_.empty()) greetings_.pop();

  // Said before the answers, so that nothing new is asked of it on their account.
  set_state(LinkState::down, reason);
  while (!pending_.empty()) {
    events_.push(Answer{pending_.pop().tag, was_up ? Vote::disconnected : reason, nullptr});
  }
  late_ = 0;
  back_off_ = std::clamp(2 * back_off_, first_back_off, longest_back_off);
  next_try_ = now + back_off_ / 2 + random_.below(back_off_ / 2);
}

void Link::on_bytes(std::string_view bytes) {
  if (connected()) reader_.feed(bytes);
}

void Link::send(Time now, const core::Tag& tag, std::string_view bytes) {
  if (state_ == State::up) {
    output_ += bytes;
  } else if (!ever_up_or_failed_ && state_ != State::stopped) {
    waiting_ += bytes;
  } else {
    events_.push(Answer{tag, reason_, nullptr});
    return;
  }
  pending_.push({tag, now});
}

void Link::advance(Time now) {
  if (now >= give_up_opening_) {
    return fail(now, Vote::unreachable, "no answer within connect_timeout");
  }
  if (now >= next_try_) return open(now);
  if (state_ != State::up) return;
  while (late_ < pending_.size() && now >= pending_[late_].sent + config_.node_timeout) {
    if (late_ == 0) {
      stalled_since_ = now;
      trouble_ = "no answer within node_timeout";
      note("stalled: no answer within node_timeout");
      set_state(LinkState::stalled, Vote::stalled);
    }
    events_.push(Late{pending_[late_++].tag});
    next_batch_ = now + batch_of_late;
  }
  // Nothing for so long: the path may be dead without either end knowing. A new one will tell.
  if (late_ > 0 && now >= stalled_since_ + config_.connect_timeout) {
    fail(now, Vote::unreachable, "no answer for node_timeout and connect_timeout together");
  }
}

Time Link::deadline() const {
  Time due = std::min(give_up_opening_, next_try_);
  if (state_ != State::up) return due;
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

std::optional<Link::Event> Link::next(Time now) {
  for (;;) {
    if (!events_.empty()) return events_.pop();
    if (!connected()) return std::nullopt;
    const Reply* reply = reader_.next();
    if (reply == nullptr) {
      if (reader_.broken().empty()) return std::nullopt;
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
    const Pending answered = pending_.pop();
    if (late_ > 0) {
      stalled_since_ = now;  // it moves
      if (--late_ == 0) {
        note("answers again");
        set_state(LinkState::up, Vote::pending);
      }
    }
    const Vote vote = vote_of(answered.tag.kind, *reply);
    if (reply->type == Reply::Type::error) trouble_ = reply->text;
    return Answer{answered.tag, vote, reply};
  }
}

void Link::wrote(std::size_t bytes) {
  written_ += bytes;
  if (written_ < output_.size()) return;
  output_.clear();
  written_ = 0;
}

void Link::set_state(LinkState state, Vote reason) {
  reason_ = reason;
  events_.push(Changed{state, reason});
}

void Link::note(std::string sentence) {
  events_.push(Note{config_.endpoint.name() + " " + std::move(sentence)});
}

}  // namespace quorumlock::redis
