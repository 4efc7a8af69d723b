#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/mutants.hpp"
#include "redis/info.hpp"
#include "redis/keys.hpp"
#include "redis/link.hpp"
#include "redis/scripts.hpp"
#include "redis/verbs/vote.hpp"
#include "redis/words.hpp"

// Identifies the server on a new connection and finds out whether its votes count.
namespace quorumlock::redis {

using core::Time;

namespace {

/// The round of an AUTH on a connection that is up; those before are ask_facts()'s.
constexpr std::uint16_t login_round = 4;

}  // namespace

void Link::greet() {
  const auto ask = [this](Greeting greeting, std::initializer_list<std::string_view> words) {
    greetings_.push(greeting);
    append_command(output_, words);
  };
  client_id_ = -1;
  run_before_ = std::move(facts_.run_id);
  facts_ = {};
  texts_ = {};
  barred_ = Vote::pending;
  append_only_ = always_ = known_durability_ = alone_ = false;
  deletion_ = Deletion::script;
  login_is_new_ = false;
  login_in_output_ = !login_.empty();
  if (login_in_output_) {
    greetings_.push(Greeting::auth);
    append_login(output_, login_);
  }
  const int db = config_.endpoint.db;
  if (db != 0) ask(Greeting::select, {"SELECT", std::to_string(db)});
  ask(Greeting::client_id, {"CLIENT", "ID"});
  ask(Greeting::role, {"INFO", "replication"});
  ask(Greeting::durability, {"CONFIG", "GET", "append*"});
  ask(Greeting::durability, {"CONFIG", "GET", "no-appendfsync-on-rewrite"});
  // The scripts for readers, several locks and permits cost nothing until one is used: the first
  // such command of any client to a run of a server is answered NOSCRIPT and sent again in full.
  for (const Script* script : {&acquire_script, &acquire_ordered_script, &queue_script,
                               &raise_script, &renew_script, &release_script}) {
    ask(Greeting::script, {"SCRIPT", "LOAD", script->source});
  }
  if (!config_.wakes) {
    // Tries whether the server has these commands and lets this user call them. They delete
    // nothing, since no repairer's mark is empty.
    ask(Greeting::delifeq, {"DELIFEQ", repairer_key, ""});
    ask(Greeting::delex, {"DELEX", repairer_key, "IFEQ", ""});
  }
  ask(Greeting::record, {"MGET", enrolment_key, members_key});
  ask(Greeting::server, {"INFO", "server"});
}

void Link::on_greeting(Time now, const Reply& reply) {
  const Greeting greeting = greetings_.pop();
  silent_ = false;
  const bool error = reply.type == Reply::Type::error;
  // If this user may not call one of these commands, we only lose its answer. NOAUTH is different:
  // nothing will work without a password, so give the node up.
  if (error && greeting != Greeting::auth && reply.text.starts_with("NOAUTH")) {
    return fail(now, Vote::unauthorized, "wants a password: " + said(reply));
  }
  // A busy or loading node may be able to answer soon. Its error must not be taken for "I have no
  // enrolment".
  const Vote vote = error ? vote_of_error(reply.text) : Vote::granted;
  if (vote == Vote::busy || vote == Vote::loading) {
    return fail(now, vote, "is not ready: " + said(reply));
  }
  switch (greeting) {
    case Greeting::auth:
      if (error) return fail(now, Vote::unauthorized, "refused to log us in: " + said(reply));
      break;
    case Greeting::select:
      if (error) return fail(now, Vote::failed, "refused SELECT: " + said(reply));
      break;
    case Greeting::client_id:
      if (reply.type == Reply::Type::integer) client_id_ = reply.integer;
      break;
    case Greeting::role:
      on_replication(reply);
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
        if (const std::string version = version_of(reply.text); is_too_old(version)) {
          return fail(now, Vote::failed, too_old(version));
        }
      }
      conclude_facts();
      state_ = State::greeted;
      events_.push(Greeted{});
      return;
    case Greeting::durability: return on_durability(reply);
    case Greeting::record:
      texts_ = texts_of(reply);
      if (error) trouble_ = said(reply);
      break;
    case Greeting::script: break;
    case Greeting::delifeq:
      if (reply.type == Reply::Type::integer) deletion_ = Deletion::delifeq;
      break;
    case Greeting::delex:
      if (reply.type == Reply::Type::integer) deletion_ = Deletion::delex;
      break;
    case Greeting::kill: return on_killed(now, reply);
    case Greeting::enrolment: enrolment_.on_reply(now, reply); return follow_enrolment(now);
  }
}

void Link::log_in(Time now, const Login& login) {
  login_ = login;
  login_is_new_ = connected();
  log_in_again(now);
}

/// Logs in on the connection that is there. This waits while it is being greeted, and while
/// commands wait for the record, which have to be the last ones that are unanswered.
void Link::log_in_again(Time now) {
  if (state_ != State::up || reading_again_ || !std::exchange(login_is_new_, false)) return;
  if (login_.empty()) return;
  core::Tag tag;
  tag.round = login_round;
  pending_.emplace(tag, now, true);
  login_in_output_ = true;
  append_login(output_, login_);
}

/// A node that refuses a login leaves the connection as it was, so nothing is lost yet.
void Link::on_logged_in_again(const Reply& reply) {
  if (reply.type != Reply::Type::error) return;
  note("refused to log us in again, and the connection goes on as before: " + said(reply));
}

void Link::on_no_login(Time now, std::string_view why) {
  if (state_ == State::opening) fail(now, Vote::unauthorized, std::string(why));
}

/// The words of an error, without our password.
std::string Link::said(const Reply& reply) const {
  return words_of(reply, login_);
}

/// Reads a reply to CONFIG GET, pairs of name and value, about how writes reach the disk.
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

/// Reads the role, whether the data was once another server's, and whether a replica has a copy. A
/// server that does not report its history counts as a former replica.
void Link::on_replication(const Reply& reply) {
  const bool told = reply.type == Reply::Type::string;
  const auto field = [&](std::string_view name) {
    return told ? info_field(reply.text, name) : std::string_view();
  };
  role_ = field("role");
  const std::string_view other = field("master_replid2");
  const bool own_data = !other.empty() && other.find_first_not_of('0') == other.npos &&
                        field("second_repl_offset") == "-1";
  facts_.promoted = !own_data;
  alone_ = field("connected_slaves") == "0" || core::planted(core::Mutant::replicas_not_looked_at);
}

void Link::conclude_facts() {
  facts_.durable.reset();
  if (known_durability_) facts_.durable = append_only_ && always_ && alone_;
}

/// Asks the greeting's questions again, since the answers may have changed.
void Link::ask_facts(Time now) {
  append_only_ = always_ = known_durability_ = alone_ = false;
  core::Tag tag;
  const auto ask = [&](std::initializer_list<std::string_view> words) {
    ++tag.round;
    pending_.emplace(tag, now, true);
    append_command(output_, words);
  };
  ask({"INFO", "replication"});
  ask({"CONFIG", "GET", "append*"});
  ask({"CONFIG", "GET", "no-appendfsync-on-rewrite"});
}

void Link::on_fact(Time now, const core::Tag& tag, const Reply& reply) {
  if (tag.round == login_round) return on_logged_in_again(reply);
  if (tag.round == 1) return on_replication(reply);
  on_durability(reply);
  if (tag.round < 3) return;
  conclude_facts();
  enrolment_.look_at(now, facts_);
}

/// The server is identified. Commands that our lost connection left unanswered must not run after
/// anything we send now, so if this is the same run of the server, that connection is killed first.
/// In another run they are gone, and the client id may belong to someone else.
void Link::admit(Time now) {
  if (state_ != State::greeted) return;
  const bool same_run = !facts_.run_id.empty() && facts_.run_id == run_before_;
  if (!same_run || orphan_id_ < 0) return enrol(now);
  state_ = State::killing;
  if (orphan_id_ == unknown_client) return go_on_later(now, "it did not tell us our number");
  greetings_.push(Greeting::kill);
  append_command(output_, {"CLIENT", "KILL", "ID", std::to_string(orphan_id_)});
}

/// The old connection is gone, or this user may not kill it.
void Link::on_killed(Time now, const Reply& reply) {
  const bool gone =
      reply.type != Reply::Type::error || reply.text.find("No such client") != reply.text.npos;
  if (gone) return enrol(now);
  go_on_later(now, said(reply));
}

/// The old connection may be there still. Only time puts what was sent on it before what is sent
/// next.
void Link::go_on_later(Time now, const std::string& why) {
  note(
      "does not let this user kill a lost connection, so a key that nobody holds may stay until "
      "its ttl is over: " +
      why);
  go_on_ = now + config_.node_timeout;
  give_up_opening_ = std::max(give_up_opening_, go_on_ + config_.connect_timeout);
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
  go_on_ = core::never;
  enrolment_.greeted(now, facts_, texts_);
  follow_enrolment(now);
}

/// Carries out what the enrolment asks for, and takes over its result.
void Link::follow_enrolment(Time now) {
  const bool enrolled = enrolment_.standing() == Enrolment::Standing::enrolled;
  if (enrolment_.take_news()) {
    judged_ = false;
    events_.push(Enrolled{});
  }
  if (enrolled) {
    own_words_.clear();
    append_word(own_words_, enrolment_.record());
    append_word(own_words_, std::to_string(enrolment_.floor()));
  }
  if (!enrolment_.is_reading() && (!enrolled || judged_)) end_reading(now);
  // During the greeting the server has just reported its facts.
  if (enrolment_.take_check() && state_ == State::up) ask_facts(now);
  if (enrolment_.take_command(now, output_)) {
    if (state_ == State::up) {
      pending_.emplace(core::Tag(), now, true);
    } else {
      greetings_.push(Greeting::enrolment);
    }
  }
  if (enrolment_.take_repair()) events_.push(Repair{});
  const Enrolment::Errand errand = enrolment_.take_errand();
  if (errand != Enrolment::Errand::none) events_.push(Errand{errand});
  if (state_ == State::up) return announce();
  // Not while an answer to the greeting is missing: once up, the link would not notice its absence.
  const bool known = enrolled ? judged_ : enrolment_.standing() != Enrolment::Standing::unknown;
  if (greetings_.empty() && known) come_up(now);
  if (greetings_.empty() && enrolled && !known) give_up_opening_ = core::never;
}

void Link::follow_undecided(Time now, Enrolment::Others others) {
  enrolment_.follow(now, std::move(others));
}

void Link::follow(Time now, Enrolment::Others others, const std::string& refusal, Vote vote) {
  enrolment_.follow(now, std::move(others));
  judged_ = enrolment_.standing() == Enrolment::Standing::enrolled;
  refusal_ = refusal;
  refusing_ = vote;
  if (state_ == State::enrolling || state_ == State::up) follow_enrolment(now);
}

void Link::doubt(Time now) {
  if (state_ != State::up || reading_again_) return;
  reading_again_ = enrolment_.standing() == Enrolment::Standing::enrolled;
  enrolment_.doubt();
  follow_enrolment(now);
}

void Link::look_again(Time now) {
  if (state_ != State::up) return;
  enrolment_.look_again(now);
  follow_enrolment(now);
}

void Link::repaired(Time now, std::uint64_t floor, std::int64_t since, const Membership& as) {
  enrolment_.repaired(floor, since, as);
  follow_enrolment(now);
}

void Link::errand_done(Time now, Enrolment::ErrandEnd end) {
  enrolment_.errand_done(now, end);
  follow_enrolment(now);
}

void Link::repair_failed(Time now) {
  enrolment_.repair_failed();
  follow_enrolment(now);
}

}  // namespace quorumlock::redis
