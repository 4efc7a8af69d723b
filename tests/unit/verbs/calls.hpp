#pragma once

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <chrono>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/printing.hpp"
#include "verbs/dispatch.hpp"
#include "wire/words.hpp"

// What the tests of the verbs have in common: commands for one lock, orders:42, and their bytes.
namespace quorumlock::test {

using namespace std::chrono_literals;
using core::CommandKind;

inline constexpr std::string_view orders_counter = "quorumlock:fence:orders:42";
inline constexpr core::LinePlace no_place = {};

/// The bytes that hiredis makes of these words.
inline std::string formatted(std::span<const std::string_view> words) {
  std::vector<const char*> pointers;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words) {
    pointers.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const auto size =  // an int before hiredis 1.0
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), pointers.data(), sizes.data());
  EXPECT_GE(size, 0);
  std::string text(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
  return text;
}
inline std::string formatted(std::initializer_list<std::string_view> words) {
  return formatted(std::span(words.begin(), words.size()));
}

/// A command for a lock held to write.
inline core::Send command(CommandKind kind, bool with_source = false) {
  core::Send send;
  send.to = core::NodeSet::only(0);
  send.tag = {{}, 1, kind, with_source};
  send.lock.first = "orders:42";
  send.token = "t0ken";
  send.ttl = 12345ms;
  send.fence = 77;
  return send;
}
/// A command for three more locks, the second of which has an empty key.
inline core::Send command_for_all(CommandKind kind) {
  static const std::vector<std::string> others = {"stock:7", "", "cash"};
  core::Send send = command(kind);
  send.lock.others = others;
  return send;
}
/// A command for the seventh of twelve permits.
inline core::Send command_for_permit(CommandKind kind) {
  core::Send send = command(kind);
  send.lock.first = "quorumlock:semaphore:orders:42";
  send.lock.permit = {12, 7};
  return send;
}
/// The place of a waiter of one process.
inline core::LinePlace place(std::uint64_t number, std::uint64_t ticket = 0, bool reads = false) {
  return {"0123456789abcdef", number, ticket, reads};
}

/// The bytes of a command, with the words that session and link append.
inline std::string encoded(const core::Send& send) {
  std::string bytes;
  redis::append_command(bytes, send, {1'700'000'000'000'000, 30s});
  if (redis::is_renewal(send.tag.kind)) redis::append_number(bytes, 0);
  if (redis::says_enrolment(send.tag.kind)) {
    redis::append_word(bytes, "run1:abc");
    redis::append_word(bytes, "5");
    redis::append_number(bytes, 86'400'000);
    redis::append_number(bytes, 3'600'000);
  }
  return bytes;
}
/// A vote script's call, with what the node's link appends.
inline std::string vote_call(std::initializer_list<std::string_view> words) {
  std::vector<std::string_view> all(words);
  all.insert(all.end(), {"run1:abc", "5", "86400000", "3600000"});
  return formatted(all);
}
/// The call of a script that has the keys of command_for_all() and then these words.
inline std::string call_for_all(std::string_view sha1,
                                std::initializer_list<std::string_view> words) {
  std::vector<std::string_view> all = {"EVALSHA",
                                       sha1,
                                       "8",
                                       "orders:42",
                                       "stock:7",
                                       "",
                                       "cash",
                                       "quorumlock:fence:orders:42",
                                       "quorumlock:fence:stock:7",
                                       "quorumlock:fence:",
                                       "quorumlock:fence:cash",
                                       "t0ken"};
  all.insert(all.end(), words);
  all.insert(all.end(), {"run1:abc", "5", "86400000", "3600000"});
  return formatted(all);
}

}  // namespace quorumlock::test
