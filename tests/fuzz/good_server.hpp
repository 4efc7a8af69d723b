#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/members_marks.hpp"

namespace quorumlock::fuzz {

/// The commands in these bytes, each with its words separated by spaces. The library wrote the
/// bytes, so they need no checking.
inline std::vector<std::string> commands_in(std::string_view bytes) {
  std::vector<std::string> commands;
  const auto take_number = [&bytes] {
    const std::size_t end = bytes.find("\r\n");
    const auto number = std::stoul(std::string(bytes.substr(1, end - 1)));
    bytes.remove_prefix(end + 2);
    return number;
  };
  while (!bytes.empty()) {
    std::string command;
    for (auto words = take_number(); words > 0; --words) {
      const auto size = take_number();
      command.append(command.empty() ? "" : " ").append(bytes.substr(0, size));
      bytes.remove_prefix(size + 2);
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

/// The answer of a server that accepts us to a command of the greeting. The reply target checks at
/// its start that this is enough for the link to come up.
inline std::string good_answer(std::string_view command) {
  const auto bulk = [](std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
  };
  if (command == "CLIENT ID" || command.starts_with("CLIENT KILL")) return ":7\r\n";
  if (command.starts_with("CONFIG GET")) return "*0\r\n";
  if (command == "MGET quorumlock:enrolment quorumlock:members") {
    const redis::Membership its = test::founded("n1", {"n1", "n2", "n3"});
    return "*2\r\n" + bulk(test::with_mark("run1:abc@", its)) + bulk(its.text());
  }
  if (command == "INFO replication") return bulk("role:master\r\nconnected_slaves:0\r\n");
  if (command == "INFO server") return bulk("redis_mode:standalone\r\nrun_id:run1\r\n");
  if (command.starts_with("SCRIPT LOAD")) return bulk(std::string(40, 'a'));
  return "+OK\r\n";
}

}  // namespace quorumlock::fuzz
