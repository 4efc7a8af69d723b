#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "sim/data_commands.hpp"
#include "sim/resp.hpp"
#include "sim/server.hpp"

// How a Server executes a command: first what it refuses, then the command itself.
namespace quorumlock::sim {
namespace {

constexpr std::string_view wants_password = "NOAUTH Authentication required.";
constexpr std::string_view no_script = "NOSCRIPT No matching script. Please use EVAL.";

constexpr std::string_view no_permission =
    "NOPERM this user has no permissions to access one of the keys used as arguments";

constexpr std::size_t sha1_digits = 40;

/// Whether the command has a key that is the lock's, or about the lock.
bool touches(const Words& words, const Command& command, const std::string& lock) {
  std::span<const std::string> keys;
  if (command.name == "mget") {
    keys = std::span(words).subspan(1);
  } else if (command.name == "eval" || command.name == "evalsha") {
    const auto count = static_cast<std::size_t>(data::whole_number(words[2]).value_or(0));
    keys = std::span(words).subspan(3, std::min(count, words.size() - 3));
  } else if (command.run != nullptr && words.size() > 1) {
    keys = std::span(words).subspan(1, 1);
  }
  return std::ranges::any_of(
      keys, [&lock](const auto& key) { return key == lock || key.ends_with(":" + lock); });
}

}  // namespace

std::string Server::execute(Connection& connection, const Words& words, TrueTime now) {
  std::string error;
  const Command* const command = find_command(words, error, settings_.deletes_by);
  if (command == nullptr) return resp::error(error);
  const bool may = connection.authenticated || settings_.password.empty();
  if (!may && !command->is(Command::without_auth)) return resp::error(wants_password);
  const std::string_view refused = conditions.refusal(*command);
  if (!refused.empty()) return resp::error(refused);
  if (!connection.forbidden.empty() && touches(words, *command, connection.forbidden)) {
    return resp::error(no_permission);
  }
  const bool listens = !connection.channels.empty();
  if (listens && command->name != "ping" && !command->name.ends_with("subscribe")) {
    return resp::error("ERR Can't execute '" + data::lower(words[0]) +
                       "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
                       "allowed in this context");
  }
  if (command->run != nullptr) {
    const std::function<int(const std::string&, const std::string&)> tell =
        [this](const std::string& channel, const std::string& message) {
          return publish(channel, message);
        };
    return command->run({&data[connection.db], wall_us(now), &tell}, words);
  }
  return about_server(connection, command->name, words, now);
}

std::string Server::about_server(Connection& connection, std::string_view name, const Words& words,
                                 TrueTime now) {
  if (name == "auth") return auth(connection, words);
  if (name == "client|id") return resp::integer(connection.client_id);
  if (name == "client|kill") return client_kill(connection, words);
  if (name == "client|setname") return client_setname(words);
  if (name == "config|get") return config_get(words);
  if (name == "eval") return eval(connection, words, false, now);
  if (name == "evalsha") return eval(connection, words, true, now);
  if (name == "flushall") {
    data.clear();
    return resp::status("OK");
  }
  if (name == "info") return info(words, now);
  if (name == "ping" && !connection.channels.empty()) {
    return resp::array({resp::bulk("pong"), resp::bulk(words.size() == 1 ? "" : words[1])});
  }
  if (name == "ping") return words.size() == 1 ? resp::status("PONG") : resp::bulk(words[1]);
  if (name == "select") return select(connection, words);
  if (name.starts_with("script|")) return scripts.command(name, words);
  if (name == "subscribe" || name == "unsubscribe") {
    return subscribe(connection, words, name == "subscribe");
  }
  throw std::logic_error("the simulated server has no " + std::string(name));
}

std::string Server::auth(Connection& connection, const Words& words) const {
  if (words.size() > 3) return resp::error(data::syntax_error);
  if (words.size() == 2 && settings_.password.empty()) {
    return resp::error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view user = words.size() == 3 ? std::string_view(words[1]) : "default";
  const bool right = settings_.password.empty() || words.back() == settings_.password;
  if (user != "default" || !right) {
    return resp::error("WRONGPASS invalid username-password pair or user is disabled.");
  }
  connection.authenticated = true;
  return resp::status("OK");
}

std::string Server::subscribe(Connection& connection, const Words& words, bool on) {
  Words channels(words.begin() + 1, words.end());
  const bool all = channels.empty();
  if (all) channels.assign(connection.channels.begin(), connection.channels.end());
  std::string replies;
  const auto reply = [&](const std::string* channel) {
    const auto count = static_cast<std::int64_t>(connection.channels.size());
    replies += resp::array({resp::bulk(on ? "subscribe" : "unsubscribe"),
                            resp::bulk_or_nil(channel), resp::integer(count)});
  };
  for (const std::string& channel : channels) {
    if (on) {
      connection.channels.insert(channel);
    } else {
      connection.channels.erase(channel);
    }
    reply(&channel);
  }
  if (channels.empty()) reply(nullptr);
  return replies;
}

int Server::publish(const std::string& channel, const std::string& message) {
  int receivers = 0;
  for (auto& [number, connection] : connections_) {
    if (!connection.channels.contains(channel)) continue;
    connection.output +=
        resp::array({resp::bulk("message"), resp::bulk(channel), resp::bulk(message)});
    told_.insert(number);
    ++receivers;
  }
  return receivers;
}

std::string Server::select(Connection& connection, const Words& words) const {
  const auto number = data::whole_number(words[1]);
  if (!number) return resp::error(data::not_an_integer);
  if (*number < 0 || *number >= 16) return resp::error("ERR DB index is out of range");
  connection.db = static_cast<int>(*number);
  return resp::status("OK");
}

std::string Server::client_kill(const Connection& self, const Words& words) {
  if (words.size() != 4 || data::lower(words[2]) != "id") {
    throw std::logic_error("the simulated server knows CLIENT KILL ID only");
  }
  const auto id = data::whole_number(words[3]);
  if (!id || *id <= 0) return resp::error("ERR client-id should be greater than 0");
  // A client never kills itself in this way.
  return resp::integer(static_cast<std::int64_t>(std::erase_if(connections_, [&](const auto& each) {
    return each.second.client_id == *id && &each.second != &self;
  })));
}

/// The name itself is of no use in the simulator, since nobody lists the clients.
std::string Server::client_setname(const Words& words) {
  const auto is_special = [](char c) { return c < '!' || c > '~'; };
  if (std::ranges::any_of(words[2], is_special)) {
    return resp::error("ERR Client names cannot contain spaces, newlines or special characters.");
  }
  return resp::status("OK");
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
  const std::function<int(const std::string&, const std::string&)> tell =
      [this](const std::string& channel, const std::string& message) {
        return publish(channel, message);
      };
  return run_script(*known, {&data[connection.db], wall_us(now), &tell}, given.first(keys),
                    given.subspan(keys), conditions.in_script());
}

}  // namespace quorumlock::sim
