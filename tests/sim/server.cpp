#include "sim/server.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "sim/connection_commands.hpp"
#include "sim/data_commands.hpp"
#include "sim/introspection.hpp"
#include "sim/resp.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {
namespace {

constexpr std::string_view wants_password = "NOAUTH Authentication required.";
constexpr std::string_view no_script = "NOSCRIPT No matching script. Please use EVAL.";
constexpr std::string_view no_permission =
    "NOPERM this user has no permissions to access one of the keys used as arguments";

constexpr std::size_t sha1_digits = 40;

bool is_script(const Command& command) {
  return command.name == "eval" || command.name == "evalsha";
}

std::span<const std::string> keys_of(const Words& words, const Command& command) {
  if (command.name == "mget") return std::span(words).subspan(1);
  if (is_script(command)) {
    const auto count = static_cast<std::size_t>(data::whole_number(words[2]).value_or(0));
    return std::span(words).subspan(3, std::min(count, words.size() - 3));
  }
  if (command.run != nullptr && words.size() > 1) return std::span(words).subspan(1, 1);
  return {};
}

/// Whether one of the command's keys is the lock's own key, or is about the lock.
bool touches(const Words& words, const Command& command, const std::string& lock) {
  return std::ranges::any_of(keys_of(words, command), [&lock](const auto& key) {
    return key == lock || key.ends_with(":" + lock);
  });
}

/// Whether the command needs the right to write a key that decides whether the node's votes count.
bool writes_the_nodes_keys(const Words& words, const Command& command) {
  if (!is_script(command) && !command.is(Command::writes)) return false;
  return std::ranges::any_of(keys_of(words, command), [](const std::string& key) {
    return key == redis::enrolment_key || key == redis::members_key ||
           key == redis::candidate_key || key == redis::repairer_key;
  });
}

}  // namespace

Server::Server(ServerSettings settings, WallClock its_clock, TrueTime now)
    : clock(its_clock), settings_(std::move(settings)), run_(settings_.seed) {
  begin_run(now);
}

void Server::begin_run(TrueTime now) {
  connections.drop_all();
  scripts.flush();
  run_.begin(wall_us(now));
  running_ = true;
  paused_ = false;
}

std::int64_t Server::wall_us(TrueTime now) const {
  return clock.at(now).count() / 1000;
}

DatabaseView Server::at(TrueTime now) const {
  const auto first = data.find(0);
  return {first != data.end() ? &first->second : nullptr, wall_us(now)};
}

void Server::reap(TrueTime now) {
  // A replica waits for its master's DEL.
  if (conditions.replica) return;
  for (auto& [number, database] : data) database.reap(wall_us(now) / 1000);
}

void Server::crash() {
  running_ = false;
  connections.drop_all();
}

void Server::restart(TrueTime now) {
  begin_run(now);
  conditions = {};
  if (settings_.durable) {
    if (file_) data = *std::exchange(file_, {});
    reap(now);
  } else {
    data.clear();
  }
}

void Server::fail_over(Data older, TrueTime now, bool knows) {
  begin_run(now);
  conditions = {};
  file_.reset();
  data = std::move(older);
  if (knows) run_.promote();
}

void Server::stop_writing() {
  if (settings_.durable && !file_) file_ = data;
}

void Server::promote(Data of_the_other) {
  conditions.replica = false;
  run_.promote();
  file_.reset();  // a replica writes a new file
  data = std::move(of_the_other);
}

bool Server::execute_next(int connection, TrueTime now) {
  if (!running_ || paused_ || connections.next(connection) == nullptr) return false;
  Connection& one = connections.at(connection);
  journal_.begin(one.db, one.requests.take());
  one.output += execute(one, journal_.words(), now);
  if (one.hung_up && one.requests.size() == 0) connections.drop(connection);
  return true;
}

Moment Server::moment_of(const Connection& connection, TrueTime now) {
  return {&data[connection.db], wall_us(now), &connections, &journal_};
}

std::string Server::execute(Connection& connection, const Words& words, TrueTime now) {
  std::string error;
  const Command* const command = find_command(words, error);
  if (command == nullptr) return resp::error(error);
  const bool may = connection.authenticated || settings_.password.empty();
  if (!may && !command->is(Command::without_auth)) return resp::error(wants_password);
  const std::string_view refused = conditions.refusal(flags_of(*command, words));
  if (!refused.empty()) return resp::error(refused);
  if (!connection.forbidden.empty()) {
    const bool writes = writes_the_nodes_keys(words, *command);
    if (writes) ++connection.refused_writes;
    if (writes || touches(words, *command, connection.forbidden)) return resp::error(no_permission);
  }
  const bool listens = !connection.channels.empty();
  if (listens && command->name != "ping" && !command->name.ends_with("subscribe")) {
    return resp::error("ERR Can't execute '" + data::lower(words[0]) +
                       "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                       "allowed in this context");
  }
  if (command->run != nullptr) {
    const Moment moment = moment_of(connection, now);
    if (command->is(Command::writes)) journal_.note(*moment.keys, words, moment.now_ms());
    return command->run(moment, words);
  }
  return about_server(connection, command->name, words, now);
}

/// A script whose first line says that it may write is refused as a write, before it is even read.
const Command& Server::flags_of(const Command& command, const Words& words) const {
  static constexpr Command writer{"eval", -3, Command::writes | Command::grows, nullptr};
  const redis::Script* const known = command.name == "evalsha" ? scripts.find(words[1]) : nullptr;
  const std::string_view source = known != nullptr         ? known->source
                                  : command.name == "eval" ? std::string_view(words[1])
                                                           : std::string_view();
  return source.starts_with("#!") ? writer : command;
}

std::string Server::about_server(Connection& connection, std::string_view name, const Words& words,
                                 TrueTime now) {
  if (name == "auth") return auth(connection, settings_.password, words);
  if (name == "client|id") return resp::integer(connection.client_id);
  if (name == "client|kill") return client_kill(connections, connection, words);
  if (name == "client|list") return client_list(connections);
  if (name == "client|setname") return client_setname(connection, words);
  if (name == "config|get") return config_get(*this, words);
  if (name == "eval") return eval(connection, words, false, now);
  if (name == "evalsha") return eval(connection, words, true, now);
  if (name == "flushall") {
    data.clear();
    return resp::status("OK");
  }
  if (name == "info") return info(*this, words, now);
  if (name == "ping") return ping(connection, words);
  if (name == "select") return select(connection, words);
  if (name.starts_with("script|")) return scripts.command(name, words);
  if (name == "subscribe" || name == "unsubscribe") {
    return subscribe(connection, words, name == "subscribe");
  }
  throw std::logic_error("the simulated server has no " + std::string(name));
}

std::string Server::eval(const Connection& connection, const Words& words, bool by_sha,
                         TrueTime now) {
  if (by_sha && words[1].size() != sha1_digits) return resp::error(no_script);
  const auto count = data::whole_number(words[2]);
  if (!count) return resp::error(data::not_an_integer);
  if (*count > static_cast<std::int64_t>(words.size()) - 3) {
    return resp::error("ERR Number of keys can't be greater than number of args");
  }
  if (*count < 0) return resp::error("ERR Number of keys can't be negative");
  const redis::Script* const known = by_sha ? scripts.find(words[1]) : &scripts.learn(words[1]);
  if (known == nullptr) return resp::error(no_script);

  const std::span<const std::string> given = std::span(words).subspan(3);
  const auto keys = static_cast<std::size_t>(*count);
  return run_script(*known, moment_of(connection, now), given.first(keys), given.subspan(keys),
                    conditions.in_script());
}

}  // namespace quorumlock::sim
