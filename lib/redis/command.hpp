#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/outcome.hpp>

#include "core/engine.hpp"
#include "redis/reply.hpp"

namespace quorumlock::redis {

/// Appends one command as RESP: what redisFormatCommandArgv gives, without its allocation.
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}

/// How a node is told to delete a key where it holds a token.
enum class Deletion : std::uint8_t {
  script,   ///< release.lua, which wakes those who wait
  delex,    ///< DELEX key IFEQ token: Redis from 8.4, Valkey from 9.2
  delifeq,  ///< DELIFEQ key token: Valkey from 9.0
};

/// What of a command does not follow from the engine's Send.
struct Surroundings {
  std::int64_t wall_us = 0;  ///< the client's wall clock, in us since 1970
  core::Duration max_ttl{};
  Deletion deletion = Deletion::script;  ///< of a release that only_deletes()
};

/// A release of one key with one holder, by which nobody enters or leaves a line. What the script
/// does beside is to wake who waits; where nobody does, the server's own command does the same.
inline bool only_deletes(const core::Send& send) {
  return send.tag.kind == core::CommandKind::release && !send.by_token && !send.shared &&
         send.others.empty() && send.capacity == 0 && send.waiter == 0 && send.not_woken == 0;
}

using core::counter_life;

/// Appends how a command of the engine's is said to Redis: SET key token NX PX ttl, or one of the
/// scripts, by name or (Tag::with_source) whole. Renewals of plain locks are for Batch. Where
/// says_enrolment(), the node's enrolment and floor are to follow as the last two words.
void append_command(std::string& out, const core::Send& send, const Surroundings& around);
/// The same of a Send that has others, with the names of those in the line.
void append_command_for_all(std::string& out, const core::Send& send, const Surroundings& around,
                            std::string_view waiter, std::string_view not_woken);
/// The same of a Send that has a capacity, with the names of those in the line.
void append_command_for_permit(std::string& out, const core::Send& send, const Surroundings& around,
                               std::string_view waiter, std::string_view not_woken);
constexpr bool says_enrolment(core::CommandKind kind) {
  using core::CommandKind;
  return kind == CommandKind::acquire || kind == CommandKind::raise || kind == CommandKind::renew ||
         kind == CommandKind::renewals || kind == CommandKind::acquisitions;
}
void append_command(std::string& out, const core::SendEntries& sending);
/// The beginning of a command of so many words, and one more word of it, with `rest` behind.
void append_count(std::string& out, std::size_t words);
void append_word(std::string& out, std::string_view word, std::string_view rest = {});
void append_number(std::string& out, std::int64_t number);

/// What a reply to a command of this kind means; of a Batch, what it means for all of them.
/// `asked` is left to the caller.
core::Answer answer_of(core::CommandKind kind, const Reply& reply);
/// What one lock's four words mean in a reply to CommandKind::acquisitions.
core::Answer acquisition_of(std::span<const Reply> words);
/// The answer to a SendEntries; empty where it is none.
void places_of(const Reply& reply, std::vector<core::Place>& places);
/// What an error reply means, whatever was asked.
Vote vote_of_error(std::string_view text);

}  // namespace quorumlock::redis
