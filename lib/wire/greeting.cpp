#include "wire/greeting.hpp"

#include <algorithm>
#include <utility>

#include "lock/mutants.hpp"
#include "verbs/keys.hpp"
#include "verbs/rights.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/client_name.hpp"
#include "wire/info.hpp"
#include "wire/numbers.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {

using core::Time;

namespace {

/// The rounds in the tags of the questions on a connection that is up.
enum class Later : std::uint16_t {
  replication = 1,
  fence = 2,
  login = 3,
  login_mark = 4,
  writable = 5,
  writable_by_sha = 6,
};

/// The server returns this text right after its answer to a login.
constexpr std::string_view mark_text = "quorumlock:login";

constexpr std::string_view is_a_replica = "is a replica: name standalone servers only";

/// The settings by which a primary without its replicas grants nothing.
constexpr std::string_view fence_settings = "min-replicas-*";

bool is_mark(const Reply& reply) {
  return reply.type == Reply::Type::string && reply.text == mark_text;
}

core::Tag tag_of(Later question) {
  core::Tag tag;
  tag.round = static_cast<std::uint16_t>(question);
  return tag;
}

}  // namespace

Greeting::Greeting(Config config) : config_(std::move(config)) {}

void Greeting::begin(WriteBuffer& out) {
  const auto ask = [&](Question question, const std::vector<std::string_view>& words) {
    questions_.push(question);
    append_command(out.text(), words);
  };
  while (is_asking()) questions_.pop();
  client_id_.reset();
  facts_ = {};
  texts_ = {};
  writes_refused_.reset();
  login_is_new_ = asks_facts_ = false;
  silent_ = true;
  if (!config_.login.empty()) {
    questions_.push(Question::auth);
    out.add_login(config_.login);
  }
  if (config_.db != 0) ask(Question::select, {"SELECT", std::to_string(config_.db)});
  ask(Question::client_id, {"CLIENT", "ID"});
  ask(Question::role, {"INFO", "replication"});
  if (config_.fails_over) ask(Question::fence, {"CONFIG", "GET", fence_settings});
  // The other scripts cost nothing until one is used: the first such command of any client to a run
  // of a server is answered NOSCRIPT and sent again in full.
  for (const Script* script : {&acquire_script, &acquire_all_script, &queue_script, &raise_script,
                               &renew_script, &release_script}) {
    ask(Question::script, {"SCRIPT", "LOAD", script->source});
  }
  ask(Question::writable, would_write("EVAL", writable_script.source));
  ask(Question::writable_by_sha, would_write("EVALSHA", writable_script.sha1));
  // Whoever has read the record can be found by its name: after a change an operator ends the
  // connections of those who may act on an older one. Members tells the whole name later.
  if (!config_.only_looks && !core::planted(core::Mutant::read_before_the_name)) {
    ask(Question::name, {"CLIENT", "SETNAME", ClientName().to_string()});
  }
  ask(Question::record, {"MGET", enrolment_key, members_key});
  ask(Question::server, {"INFO", "server"});
}

std::optional<Greeting::Trouble> Greeting::refusal_in(const Reply& reply) const {
  if (reply.type != Reply::Type::error) return std::nullopt;
  // If this user may not call one of these commands, we only lose its answer. NOAUTH is different:
  // nothing will work without a password, so give the node up.
  const bool logs_in = is_asking() && questions_[0] == Question::auth;
  if (!logs_in && reply.text.starts_with("NOAUTH")) {
    return Trouble{"wants a password: " + said(reply), Vote::unauthorized};
  }
  // A busy or loading node may be able to answer soon. Its error must not be taken for "I have no
  // enrolment".
  const Vote vote = vote_of_error(reply.text);
  if (vote == Vote::busy || vote == Vote::loading) {
    return Trouble{"is not ready: " + said(reply), vote};
  }
  return std::nullopt;
}

std::optional<Greeting::Trouble> Greeting::on_reply(const Reply& reply) {
  const Question question = questions_.pop();
  silent_ = false;
  const bool error = reply.type == Reply::Type::error;
  switch (question) {
    case Question::auth:
      if (error) return Trouble{"refused to log us in: " + said(reply), Vote::unauthorized};
      break;
    case Question::select:
      if (error) return Trouble{"refused SELECT: " + said(reply), Vote::failed};
      break;
    case Question::client_id:
      if (reply.type == Reply::Type::integer && reply.integer > 0) client_id_ = reply.integer;
      break;
    case Question::role:
      on_replication(reply);
      if (error) facts_.no_info = said(reply);
      if (role_ == "slave") {
        return Trouble{std::string(is_a_replica), Vote::not_standalone};
      }
      break;
    case Question::fence: return on_fence(reply);
    case Question::script:
    case Question::name: break;
    case Question::writable: refused_first_ = refusal_of_writes(reply); break;
    case Question::writable_by_sha: on_writable_by_sha(reply); break;
    case Question::record:
      texts_ = texts_of(reply);
      if (error) return Trouble{said(reply)};
      break;
    case Question::server: return on_server(reply);
  }
  return std::nullopt;
}

/// Reads the reply to INFO server, the last of the greeting.
std::optional<Greeting::Trouble> Greeting::on_server(const Reply& reply) {
  if (reply.type == Reply::Type::string) {
    mode_ = mode_of(reply.text);
    if (mode_ == "cluster") {
      return Trouble{"runs in cluster mode: name standalone servers only", Vote::not_standalone};
    }
    if (mode_ == "sentinel") {
      return Trouble{
          "is a Sentinel: name what it watches, as in redis+sentinel://host:port/service",
          Vote::not_standalone};
    }
    if (const std::string version = version_of(reply.text); is_too_old(version)) {
      return Trouble{too_old(version), Vote::failed};
    }
    // Without the role it is unknown whether the server's data is its own. In a record the run id
    // ends at the first colon.
    const std::string_view run_id = info_field(reply.text, "run_id");
    if (!role_.empty() && run_id.find(':') == run_id.npos) facts_.run_id = run_id;
  }
  return std::nullopt;
}

/// Reads the role, whether the data was once another server's, and how many replicas have a copy.
void Greeting::on_replication(const Reply& reply) {
  const bool told = reply.type == Reply::Type::string;
  const auto field = [&](std::string_view name) {
    return told ? info_field(reply.text, name) : std::string_view();
  };
  role_ = field("role");
  const std::string_view other = field("master_replid2");
  const bool was_replica = !other.empty() && (other.find_first_not_of('0') != other.npos ||
                                              field("second_repl_offset") != "-1");
  facts_.history = was_replica ? field("master_replid").substr(0, 8) : "";
  replicas_ = whole_number<int>(field("connected_slaves")).value_or(0);
}

/// Reads whether the server, once it has lost a replica that Sentinels have promoted, goes on
/// granting locks. Both servers would then cast the node's vote.
std::optional<Greeting::Trouble> Greeting::on_fence(const Reply& reply) {
  int least = 0, lag_s = 0;
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    const int value = whole_number<int>(reply.elements[i + 1].text).value_or(0);
    if (reply.elements[i].text == "min-replicas-to-write") least = value;
    if (reply.elements[i].text == "min-replicas-max-lag") lag_s = value;
  }
  if (reply.type != Reply::Type::array) {
    return Trouble{
        "may be failed over, and does not report its min-replicas-to-write: let this user "
        "call CONFIG GET",
        Vote::not_standalone};
  }
  const int needed = std::max(1, replicas_);
  if (least < needed || lag_s <= 0) {
    return Trouble{
        "may be failed over, and would go on granting locks after that: set its "
        "min-replicas-to-write to " +
            std::to_string(needed) + " (it is " + std::to_string(least) +
            ") and its min-replicas-max-lag to 10 or less (it is " + std::to_string(lag_s) + ")",
        Vote::not_standalone};
  }
  // The server counts its replicas once a second, and their lag in whole seconds.
  facts_.outlives_failover = std::chrono::seconds(lag_s + 2);
  return std::nullopt;
}

std::vector<std::string_view> Greeting::would_write(std::string_view command,
                                                    std::string_view script) const {
  std::vector<std::string_view> words = {command, script, "0"};
  words.insert(words.end(), config_.needs.begin(), config_.needs.end());
  return words;
}

/// Returns why a server does not run the script that would write, or which right that has missed;
/// unset if all is well, or if its answer says nothing about writes. A busy server's last answer
/// stands.
std::optional<Greeting::Trouble> Greeting::refusal_of_writes(const Reply& reply) const {
  const bool is_need = std::ranges::find(config_.needs, reply.text) != config_.needs.end();
  if (is_need && right_named(reply.text) != nullptr) {
    return Trouble{without(reply.text), Vote::unauthorized, true};
  }
  if (reply.type != Reply::Type::error) return std::nullopt;
  const Vote vote = vote_of_error(reply.text);
  if (vote == Vote::busy || vote == Vote::loading) return writes_refused_;
  if (vote != Vote::refuses_writes && vote != Vote::unauthorized) return std::nullopt;
  return Trouble{said(reply), vote};
}

/// Reads the second of the two answers about writes. Either command may have been renamed or
/// forbidden, and each is needed.
void Greeting::on_writable_by_sha(const Reply& reply) {
  writes_refused_ = refused_first_ ? std::move(refused_first_) : refusal_of_writes(reply);
}

void Greeting::ask_facts(Time now, WriteBuffer& out, Pipeline& pipeline) {
  if (std::exchange(asks_facts_, true)) return;
  const auto ask = [&](Later question, const std::vector<std::string_view>& words) {
    pipeline.add(now, tag_of(question), true);
    append_command(out.text(), words);
  };
  ask(Later::replication, {"INFO", "replication"});
  if (config_.fails_over) ask(Later::fence, {"CONFIG", "GET", fence_settings});
  ask(Later::writable, would_write("EVAL", writable_script.source));
  ask(Later::writable_by_sha, would_write("EVALSHA", writable_script.sha1));
}

void Greeting::set_login(const Login& login, bool connected) {
  config_.login = login;
  login_is_new_ = connected;
}

void Greeting::log_in_again(Time now, WriteBuffer& out, Pipeline& pipeline) {
  if (!std::exchange(login_is_new_, false) || config_.login.empty()) return;
  pipeline.add(now, tag_of(Later::login), true);
  out.add_login(config_.login);
  pipeline.add(now, tag_of(Later::login_mark), true);
  append_command(out.text(), {"PING", mark_text});
  login_was_taken_ = false;
}

/// Takes the reply to a login. The oldest unanswered command is now the mark that was sent right
/// after that login.
std::optional<std::string> Greeting::on_login_reply(Time now, const Reply& reply,
                                                    Pipeline& pipeline) {
  login_was_taken_ = reply.type == Reply::Type::status;
  if (login_was_taken_) return std::nullopt;
  const bool dropped = is_mark(reply);
  if (dropped) pipeline.answer(now);
  return "refused to log us in again, and the connection goes on as before" +
         (dropped ? "" : ": " + said(reply));
}

std::optional<Greeting::Trouble> Greeting::on_later_reply(const core::Tag& tag,
                                                          const Reply& reply) {
  if (completes_facts(tag)) asks_facts_ = false;
  switch (static_cast<Later>(tag.round)) {
    case Later::login: break;  // on_login_reply()
    case Later::login_mark:
      // The user may lack the right to PING, but only a login that was taken shows that this is the
      // answer to it.
      if (is_mark(reply) || (login_was_taken_ && reply.type == Reply::Type::error)) break;
      return Trouble{"lost the order of its answers at a login", Vote::failed};
    case Later::replication: {
      if (reply.type != Reply::Type::string) break;  // a busy server, for example
      const std::string before = facts_.history;
      on_replication(reply);
      if (role_ == "slave") return Trouble{std::string(is_a_replica), Vote::not_standalone};
      if (facts_.history.empty() || facts_.history == before) break;
      return Trouble{"was a replica for a moment, so its data is a copy", Vote::not_standalone};
    }
    case Later::fence:
      if (reply.type != Reply::Type::array) break;
      return on_fence(reply);
    case Later::writable: refused_first_ = refusal_of_writes(reply); break;
    case Later::writable_by_sha: on_writable_by_sha(reply); break;
  }
  return std::nullopt;
}

bool Greeting::is_login(const core::Tag& tag) {
  return tag.round == static_cast<std::uint16_t>(Later::login);
}

bool Greeting::completes_facts(const core::Tag& tag) {
  return tag.round == static_cast<std::uint16_t>(Later::writable_by_sha);
}

}  // namespace quorumlock::redis
