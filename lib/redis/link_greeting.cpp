#include <utility>

#include "redis/info.hpp"
#include "redis/keys.hpp"
#include "redis/link.hpp"
#include "redis/scripts.hpp"

// Who is at the other end of a new connection, and whether its votes count.
namespace quorumlock::redis {

using core::Time;

void Link::greet() {
  const auto ask = [this](Greeting greeting, std::initializer_list<std::string_view> words) {
    greetings_.push(greeting);
    append_command(output_, words);
  };
  const Endpoint& to = config_.endpoint;
  client_id_ = -1;
  run_before_ = std::move(facts_.run_id);
  facts_ = {};
  record_.reset();
  barred_ = Vote::pending;
  append_only_ = always_ = known_durability_ = false;
  deletion_ = Deletion::script;
  if (!to.user.empty()) {  // an ACL user may have no password
    ask(Greeting::auth, {"AUTH", to.user, to.password});
  } else if (!to.password.empty()) {
    ask(Greeting::auth, {"AUTH", to.password});
  }
  if (to.db != 0) ask(Greeting::select, {"SELECT", std::to_string(to.db)});
  ask(Greeting::client_id, {"CLIENT", "ID"});
  ask(Greeting::role, {"INFO", "replication"});
  ask(Greeting::durability, {"CONFIG", "GET", "append*"});
  ask(Greeting::durability, {"CONFIG", "GET", "no-appendfsync-on-rewrite"});
  // The others, of readers, of several locks and of permits, cost nothing until one is used: the
  // first such command to a run of a server, whosesoever, is answered NOSCRIPT and goes out again
  // whole.
  for (const Script* script : {&acquire_script, &acquire_ordered_script, &queue_script,
                               &raise_script, &renew_script, &release_script}) {
    ask(Greeting::script, {"SCRIPT", "LOAD", script->source});
  }
  if (!config_.wakes) {  // whether it has these, and lets this user call them, is seen by trying
    ask(Greeting::delifeq, {"DELIFEQ", nobodys_key, ""});
    ask(Greeting::delex, {"DELEX", nobodys_key, "IFEQ", ""});
  }
  ask(Greeting::record, {"GET", enrolment_key});
  ask(Greeting::server, {"INFO", "server"});
}

void Link::on_greeting(Time now, const Reply& reply) {
  const Greeting greeting = greetings_.pop();
  const bool error = reply.type == Reply::Type::error;
  // A command that this user may not call is no reason to refuse the node: what it would have
  // told stays unknown. That the node lets nobody in is.
  if (error && greeting != Greeting::auth && reply.text.starts_with("NOAUTH")) {
    return fail(now, Vote::unauthorized, "wants a password: " + words_of(reply));
  }
  // One that cannot tell now may be able to soon. Taking its silence for "I have no enrolment"
  // would be wrong.
  const Vote vote = error ? vote_of_error(reply.text) : Vote::granted;
  if (vote == Vote::busy || vote == Vote::loading) {
    return fail(now, vote, "is not ready: " + words_of(reply));
  }
  switch (greeting) {
    case Greeting::auth:
      if (error) return fail(now, Vote::unauthorized, "refused to log us in: " + words_of(reply));
      break;
    case Greeting::select:
      if (error) return fail(now, Vote::failed, "refused SELECT: " + words_of(reply));
      break;
    case Greeting::client_id:
      if (reply.type == Reply::Type::integer) client_id_ = reply.integer;
      break;
    case Greeting::role:
      role_ = reply.type == Reply::Type::string ? info_field(reply.text, "role") : "";
      if (role_ == "slave") {
        return fail(now, Vote::not_standalone, "is a replica: name standalone servers only");
      }
      break;
    case Greeting::server:
      if (reply.type == Reply::Type::string) {
        mode_ = info_field(reply.text, "redis_mode");
        if (mode_ == "cluster") {
          return fail(now, Vote::not_standalone,
                      "runs in cluster mode: name standalone servers only");
        }
        facts_.run_id = info_field(reply.text, "run_id");
      }
      if (known_durability_) facts_.durable = append_only_ && always_;
      state_ = State::greeted;
      events_.push(Greeted{});
      return;
    case Greeting::durability: return on_durability(reply);
    case Greeting::record:
      if (reply.type == Reply::Type::string) record_ = reply.text;
      if (error) trouble_ = words_of(reply);
      break;
    case Greeting::script: break;
    case Greeting::delifeq:
      if (reply.type == Reply::Type::integer) deletion_ = Deletion::delifeq;
      break;
    case Greeting::delex:
      if (reply.type == Reply::Type::integer) deletion_ = Deletion::delex;
      break;
    case Greeting::kill: return enrol(now);
    case Greeting::enrolment: enrolment_.on_reply(now, reply); return follow_enrolment(now);
  }
}

/// What CONFIG GET tells of how writes reach the disk: pairs of name and value.
void Link::on_durability(const Reply& reply) {
  if (reply.type != Reply::Type::array) return;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    const std::string_view name = reply.elements[i].text;
    const std::string_view value = reply.elements[i + 1].text;
    if (name == "appendonly") append_only_ = value == "yes";
    if (name == "appendfsync") always_ = value == "always";
    if (name == "no-appendfsync-on-rewrite") {
      known_durability_ = true;
      append_only_ = append_only_ && value == "no";
    }
  }
}

/// Who it is is known. Commands that a lost connection left unanswered must not run after what is
/// sent now; if this is still the same run of the server, killing that connection sees to it. In
/// another run they are gone, and the id may be somebody else's by now.
void Link::admit(Time now) {
  if (state_ != State::greeted) return;
  const bool same_run = !facts_.run_id.empty() && facts_.run_id == run_before_;
  if (!same_run || orphan_id_ < 0) return enrol(now);
  state_ = State::killing;
  greetings_.push(Greeting::kill);
  append_command(output_, {"CLIENT", "KILL", "ID", std::to_string(orphan_id_)});
}

void Link::bar(Time now, Vote reason, std::string why) {
  barred_ = reason;
  trouble_ = std::move(why);
  if (state_ == State::greeted) return admit(now);
  announce();
}

void Link::enrol(Time now) {
  state_ = State::enrolling;
  orphan_id_ = -1;
  enrolment_.greeted(now, facts_, record_);
  follow_enrolment(now);
}

/// Does what the enrolment wants, and tells what became of it.
void Link::follow_enrolment(Time now) {
  if (enrolment_.take_command(output_)) {
    if (state_ == State::up) {
      pending_.emplace(core::Tag(), now, true);
    } else {
      greetings_.push(Greeting::enrolment);
    }
  }
  if (enrolment_.take_repair()) events_.push(Repair{});
  if (enrolment_.standing() == Enrolment::Standing::enrolled) {
    own_words_.clear();
    append_word(own_words_, enrolment_.record());
    append_word(own_words_, std::to_string(enrolment_.floor()));
  }
  if (state_ == State::up) return announce();
  // Not while an answer of the greeting's is out: once up, nobody would notice that it never comes.
  if (greetings_.empty() && enrolment_.standing() != Enrolment::Standing::unknown) come_up(now);
}

void Link::doubt(Time now) {
  if (state_ != State::up) return;
  enrolment_.doubt();
  follow_enrolment(now);
}

void Link::look_again(Time now) {
  if (state_ != State::up) return;
  enrolment_.look_again(now);
  follow_enrolment(now);
}

void Link::repaired(Time now, std::uint64_t floor, std::int64_t since) {
  enrolment_.repaired(floor, since);
  follow_enrolment(now);
}

void Link::repair_failed(Time now) {
  enrolment_.repair_failed();
  follow_enrolment(now);
}

}  // namespace quorumlock::redis
