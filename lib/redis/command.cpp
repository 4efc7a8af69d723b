#include "redis/command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "redis/scripts.hpp"

namespace quorumlock::redis {
namespace {

using core::CommandKind;

/// What a number takes at the most, with its mark and the end of its line.
constexpr std::size_t number_room = 24;

char* put_number(char* at, char mark, std::size_t number) {
  *at++ = mark;
  at = std::to_chars(at, at + number_room - 3, number).ptr;
  *at++ = '\r';
  *at++ = '\n';
  return at;
}

}  // namespace

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  std::size_t room = number_room;
  for (const std::string_view word : words) room += number_room + word.size() + 2;
  const std::size_t before = out.size();
  out.resize(before + room);
  char* at = put_number(out.data() + before, '*', words.size());
  for (const std::string_view word : words) {
    at = put_number(at, '$', word.size());
    at = std::copy(word.begin(), word.end(), at);
    *at++ = '\r';
    *at++ = '\n';
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

void append_command(std::string& out, const core::Send& send) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(send.ttl).count();
  std::array<char, 24> digits;
  const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), ms).ptr;
  const std::string_view ttl(digits.data(), static_cast<std::size_t>(end - digits.data()));
  const bool whole = send.tag.with_source;
  const std::string_view eval = whole ? "EVAL" : "EVALSHA";
  switch (send.tag.kind) {
    case CommandKind::set:
      return append_command(out, {"SET", send.key, send.token, "NX", "PX", ttl});
    case CommandKind::renew:
      return append_command(out, {eval, whole ? renew_script.source : renew_script.sha1, "1",
                                  send.key, send.token, ttl});
    case CommandKind::release:
      return append_command(out, {eval, whole ? release_script.source : release_script.sha1, "1",
                                  send.key, send.token});
    case CommandKind::query: return;  // the driver's own, never the engine's
  }
}

Vote vote_of_error(std::string_view text) {
  static constexpr std::pair<std::string_view, Vote> table[] = {
      {"NOSCRIPT", Vote::no_script},   {"LOADING", Vote::loading},
      {"MASTERDOWN", Vote::loading},   {"BUSY", Vote::busy},
      {"READONLY", Vote::read_only},   {"OOM", Vote::out_of_memory},
      {"MISCONF", Vote::not_writable}, {"NOREPLICAS", Vote::not_writable},
      {"NOAUTH", Vote::unauthorized},  {"WRONGPASS", Vote::unauthorized},
      {"NOPERM", Vote::unauthorized},  {"CLUSTERDOWN", Vote::not_standalone},
      {"MOVED", Vote::not_standalone}, {"CROSSSLOT", Vote::not_standalone},
  };
  const std::string_view code = text.substr(0, text.find(' '));
  for (const auto& [name, vote] : table) {
    if (code == name) return vote;
  }
  // Inside a script an error of redis.call is passed on behind the script's own words.
  if (text.find("WRONGTYPE") != text.npos) return Vote::held;
  if (text.find("READONLY") != text.npos) return Vote::read_only;
  if (text.find("OOM ") != text.npos) return Vote::out_of_memory;
  if (text.find("NOPERM") != text.npos || text.find("permissions to") != text.npos) {
    return Vote::unauthorized;
  }
  return Vote::failed;
}

Vote vote_of(CommandKind kind, const Reply& reply) {
  if (reply.type == Reply::Type::error) {
    const Vote vote = vote_of_error(reply.text);
    // Some other kind of value under our key: at a release it is simply not ours.
    return kind == CommandKind::release && vote == Vote::held ? Vote::absent : vote;
  }
  switch (kind) {
    case CommandKind::set:
      if (reply.type == Reply::Type::status && reply.text == "OK") return Vote::granted;
      if (reply.type == Reply::Type::nil) return Vote::held;
      break;
    case CommandKind::renew:
      if (reply.type != Reply::Type::integer) break;
      if (reply.integer == 1) return Vote::granted;
      if (reply.integer == 0) return Vote::held;
      if (reply.integer == 3) return Vote::absent;
      break;
    case CommandKind::release:
      if (reply.type != Reply::Type::integer) break;
      if (reply.integer == 1) return Vote::granted;
      if (reply.integer == 0) return Vote::absent;
      break;
    case CommandKind::query: break;
  }
  return Vote::failed;
}

}  // namespace quorumlock::redis
