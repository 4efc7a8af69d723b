#include "verbs/vote.hpp"

#include <utility>

namespace quorumlock::redis {

Vote vote_of_error(std::string_view text) {
  static constexpr std::pair<std::string_view, Vote> table[] = {
      {"NOSCRIPT", Vote::no_script},      {"LOADING", Vote::loading},
      {"MASTERDOWN", Vote::loading},      {"BUSY", Vote::busy},
      {"READONLY", Vote::refuses_writes}, {"OOM", Vote::refuses_writes},
      {"MISCONF", Vote::refuses_writes},  {"NOREPLICAS", Vote::refuses_writes},
      {"NOAUTH", Vote::unauthorized},     {"WRONGPASS", Vote::unauthorized},
      {"NOPERM", Vote::unauthorized},     {"CLUSTERDOWN", Vote::not_standalone},
      {"MOVED", Vote::not_standalone},    {"CROSSSLOT", Vote::not_standalone},
      {"WRONGTYPE", Vote::held},
  };
  const std::string_view code = text.substr(0, text.find(' '));
  for (const auto& [name, vote] : table) {
    if (code == name) return vote;
  }
  if (is_unknown_command(text)) return Vote::refuses_writes;
  // What a user may not do inside a script has no code.
  for (const std::string_view forbidden : {"permissions to", "user executing the script"}) {
    if (text.find(forbidden) != text.npos) return Vote::unauthorized;
  }
  return Vote::failed;
}

bool is_unknown_command(std::string_view text) {
  return text.starts_with("ERR unknown command") ||
         text.find("command called from script") != text.npos;
}

}  // namespace quorumlock::redis
