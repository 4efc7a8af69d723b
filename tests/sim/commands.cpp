#include "sim/commands.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "sim/data_commands.hpp"

namespace quorumlock::sim {
namespace {

using enum Command::Flag;

constexpr std::array known_commands{
    Command{"auth", -2, while_loading | without_auth, nullptr},
    Command{"client", -2, subcommands, nullptr},
    Command{"client|id", 2, while_loading, nullptr},
    Command{"client|kill", -3, while_loading, nullptr},
    Command{"client|list", -2, while_loading, nullptr},
    Command{"client|setname", 3, while_loading, nullptr},
    Command{"config", -2, subcommands, nullptr},
    Command{"config|get", -3, while_loading, nullptr},
    Command{"del", -2, writes, data::del},
    Command{"eval", -3, 0, nullptr},
    Command{"evalsha", -3, 0, nullptr},
    Command{"exists", -2, 0, data::exists},
    Command{"flushall", -1, writes, nullptr},
    Command{"get", 2, 0, data::get},
    Command{"getrange", 4, 0, data::getrange},
    Command{"hdel", -3, writes, data::hdel},
    Command{"hget", 3, 0, data::hget},
    Command{"hmget", -3, 0, data::hmget},
    Command{"hset", -4, writes | grows, data::hset},
    Command{"incr", 2, writes | grows, data::incr},
    Command{"info", -1, while_loading, nullptr},
    Command{"mget", -2, 0, data::mget},
    Command{"pexpire", -3, writes, data::pexpire},
    Command{"pexpireat", -3, writes, data::pexpireat},
    Command{"ping", -1, says_health, nullptr},
    Command{"pttl", 2, 0, data::pttl},
    Command{"publish", 3, while_loading, data::publish},
    Command{"scan", -2, 0, data::scan},
    Command{"script", -2, subcommands, nullptr},
    Command{"script|exists", -3, 0, nullptr},
    Command{"script|flush", -2, 0, nullptr},
    Command{"script|load", 3, 0, nullptr},
    Command{"select", 2, while_loading, nullptr},
    Command{"set", -3, writes | grows, data::set},
    Command{"strlen", 2, 0, data::strlen},
    Command{"subscribe", -2, while_loading, nullptr},
    Command{"time", 1, while_loading, data::time},
    Command{"type", 2, 0, data::type},
    Command{"unsubscribe", -1, while_loading, nullptr},
    Command{"zadd", -4, writes | grows, data::zadd},
    Command{"zrange", -4, 0, data::zrange},
    Command{"zrangebyscore", -4, 0, data::zrangebyscore},
    Command{"zrem", -3, writes, data::zrem},
    Command{"zremrangebyrank", 4, writes, data::zremrangebyrank},
    Command{"zremrangebyscore", 4, writes, data::zremrangebyscore},
    Command{"zscore", 3, 0, data::zscore},
};

std::string upper(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return copy;
}

/// Whether the text is this name, in upper or lower case. The name itself is in lower case.
bool is_name(std::string_view name, std::string_view text) {
  return std::ranges::equal(name, text, [](char lower, char any) {
    return lower == any || (lower >= 'a' && lower <= 'z' && lower - 'a' == any - 'A');
  });
}

/// Finds a command by its name, in upper or lower case.
const Command* find(std::string_view name) {
  // Few names have the same length and the same first letter. A letter's two cases are 32 apart.
  // Nearly all clients and scripts write names in upper case.
  constexpr std::size_t places = 32;
  const auto place = [](std::string_view text) {
    return (text.size() * 7 + static_cast<unsigned char>(text.front())) % places;
  };
  struct Named {
    std::string upper;
    const Command* command;
  };
  static const auto by_place = [&place] {
    std::array<std::vector<Named>, places> all;
    for (const Command& each : known_commands) {
      all[place(each.name)].push_back({upper(each.name), &each});
    }
    return all;
  }();
  if (name.empty()) return nullptr;
  for (const Named& each : by_place[place(name)]) {
    if (each.upper == name || is_name(each.command->name, name)) return each.command;
  }
  return nullptr;
}

std::string unknown(Arguments words) {
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < 128; ++i) {
    arguments += '\'' + words[i].substr(0, 128 - arguments.size()) + "' ";
  }
  return "ERR unknown command '" + words[0].substr(0, 128) +
         "', with args beginning with: " + arguments;
}

}  // namespace

const Command* find_command(Arguments words, std::string& error) {
  const Command* command = find(words[0]);
  if (command == nullptr) {
    error = unknown(words);
    return nullptr;
  }
  if (command->is(subcommands) && words.size() > 1) {
    const Command* const sub = find(std::string(command->name) + "|" + words[1]);
    if (sub == nullptr) {
      error = "ERR unknown subcommand '" + words[1].substr(0, 128) + "'. Try " +
              upper(command->name) + " HELP.";
      return nullptr;
    }
    command = sub;
  }
  const int size = static_cast<int>(words.size());
  if (command->arity > 0 ? size != command->arity : size < -command->arity) {
    error = "ERR wrong number of arguments for '" + std::string(command->name) + "' command";
    return nullptr;
  }
  return command;
}

}  // namespace quorumlock::sim
