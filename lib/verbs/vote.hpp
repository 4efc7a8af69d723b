#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "lock/answer.hpp"
#include "wire/reply.hpp"

// The parts that replies to several verbs share.
namespace quorumlock::redis {

/// The meaning of an error reply to any command.
Vote vote_of_error(std::string_view text);
/// Whether an error says that the server has no such command: it was renamed, or a proxy does not
/// know it. Inside a script the words are others: "Unknown Redis command called from script".
bool is_unknown_command(std::string_view text);
/// Whether an error says that this user may not touch one of the command's keys: "... to access one
/// of the keys used as arguments", "... to access the 'x' key", "... a key".
inline bool refuses_keys(std::string_view text) {
  return vote_of_error(text) == Vote::unauthorized && text.find(" access ") != text.npos &&
         text.find("key") != text.npos;
}

inline bool is_numbers(std::span<const Reply> words) {
  for (const Reply& word : words) {
    if (word.type != Reply::Type::integer) return false;
  }
  return true;
}
/// Whether a reply is an array of numbers, at least `least` of them.
inline bool is_numbers(const Reply& reply, std::size_t least) {
  return reply.type == Reply::Type::array && reply.elements.size() >= least &&
         is_numbers(reply.elements);
}

/// The reply of a script that votes: {verdict, fencing counter, node's time, ...}.
enum class VoteCode : std::int64_t {
  malformed = -100,
  capacity_differs = -2,  ///< only of an acquisition: the second number is the capacity
  not_enrolled = -1,
  held = 0,  ///< another client has the lock; of a raise: the counter is as high already
  granted = 1,
  replanted = 2,  ///< only of a renewal
  absent = 3,     ///< gone, or not ours
  late = 4,       ///< only of a renewal: it came too late and did nothing
  no_room = 5,    ///< only of a renewal: not re-planted, since the server has no memory left
};
/// The vote of a verdict that means the same for all verbs; failed for another.
inline Vote vote_of(VoteCode verdict) {
  if (verdict == VoteCode::granted) return Vote::granted;
  if (verdict == VoteCode::held) return Vote::held;
  return verdict == VoteCode::not_enrolled ? Vote::not_enrolled : Vote::failed;
}
/// Reads the parts that all verbs share into the answer: the votes `not_enrolled`, `held` and
/// `granted`, the counter and the time. Any other verdict is left to the verb, as a failed vote.
inline VoteCode read_vote(std::span<const Reply> words, core::Answer& answer) {
  answer.vote = Vote::failed;
  if (words.size() < 3 || !is_numbers(words)) return VoteCode::malformed;
  if (words[1].integer < 0 || words[2].integer < 0) return VoteCode::malformed;
  const VoteCode verdict{words[0].integer};
  if (verdict == VoteCode::capacity_differs) return verdict;
  answer.vote = vote_of(verdict);
  answer.fence = static_cast<std::uint64_t>(words[1].integer);
  answer.node_time = words[2].integer;
  return verdict;
}

/// A node's report of a time to come, in ms; not positive if the node does not know.
inline core::Duration milliseconds_of(std::int64_t number) {
  constexpr std::int64_t most = 1'000'000'000'000;  // 30 years
  return std::chrono::milliseconds(std::clamp<std::int64_t>(number, -1, most));
}
/// The number of a slot, or of all slots; zero if `number` is out of range.
inline int slot_of(std::int64_t number) {
  return number < 0 || number > 1'000'000 ? 0 : static_cast<int>(number);
}
/// A ticket, or a waiter's number; zero for a negative number.
inline std::uint64_t positive(std::int64_t number) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(number, 0));
}

}  // namespace quorumlock::redis
