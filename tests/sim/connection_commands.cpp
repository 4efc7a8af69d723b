#include "sim/connection_commands.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "sim/data_commands.hpp"
#include "sim/resp.hpp"

namespace quorumlock::sim {

std::string auth(Connection& connection, const std::string& password, const Words& words) {
  if (words.size() > 3) return resp::error(data::syntax_error);
  if (words.size() == 2 && password.empty()) {
    return resp::error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view user = words.size() == 3 ? std::string_view(words[1]) : "default";
  const bool right = password.empty() || words.back() == password;
  if (user != "default" || !right) {
    return resp::error("WRONGPASS invalid username-password pair or user is disabled.");
  }
  connection.authenticated = true;
  return resp::status("OK");
}

std::string client_kill(Connections& connections, const Connection& caller, const Words& words) {
  if (words.size() != 4 || data::lower(words[2]) != "id") {
    throw std::logic_error("the simulated server knows CLIENT KILL ID only");
  }
  const auto id = data::whole_number(words[3]);
  if (!id || *id <= 0) return resp::error("ERR client-id should be greater than 0");
  // A client never kills itself in this way.
  return resp::integer(connections.kill(*id, caller));
}

std::string client_list(const Connections& connections) {
  std::string all;
  connections.for_each([&all](const Connection& one) {
    all += "id=" + std::to_string(one.client_id) + " addr=simulated:0 name=" + one.name +
           " db=" + std::to_string(one.db) + '\n';
  });
  return resp::bulk(all);
}

std::string client_setname(Connection& connection, const Words& words) {
  const auto is_special = [](char c) { return c < '!' || c > '~'; };
  if (std::ranges::any_of(words[2], is_special)) {
    return resp::error("ERR Client names cannot contain spaces, newlines or special characters.");
  }
  connection.name = words[2];
  return resp::status("OK");
}

std::string ping(const Connection& connection, const Words& words) {
  if (!connection.channels.empty()) {
    return resp::array({resp::bulk("pong"), resp::bulk(words.size() == 1 ? "" : words[1])});
  }
  return words.size() == 1 ? resp::status("PONG") : resp::bulk(words[1]);
}

std::string select(Connection& connection, const Words& words) {
  const auto number = data::whole_number(words[1]);
  if (!number) return resp::error(data::not_an_integer);
  if (*number < 0 || *number >= 16) return resp::error("ERR DB index is out of range");
  connection.db = static_cast<int>(*number);
  return resp::status("OK");
}

std::string subscribe(Connection& connection, const Words& words, bool on) {
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

}  // namespace quorumlock::sim
