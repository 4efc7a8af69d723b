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

/// Appends one command as RESP: the bytes of redisFormatCommandArgv, without its allocation.
void append_command(std::string& out, std::span<const std::string_view> words);
inline void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  append_command(out, std::span(words.begin(), words.size()));
}

/// The command that deletes a key if it holds a given token.
enum class Deletion : std::uint8_t {
  script,   ///< release.lua, which also wakes waiters
  delex,    ///< DELEX key IFEQ token: Redis from 8.4, Valkey from 9.2
  delifeq,  ///< DELIFEQ key token: Valkey from 9.0
};

/// The parts of a command that do not follow from the engine's Send.
struct Surroundings {
  std::int64_t wall_us = 0;  ///< the client's wall clock, in us since 1970
  core::Duration max_ttl{};
  Deletion deletion = Deletion::script;  ///< of a release that only_deletes()
  /// Engine::Config::fencing_memory in ms: how long a counter lives after its last write.
  std::string_view counter_life = "86400000";
};

/// Whether a release is of one key with one holder, and no waiter enters or leaves a line by it.
/// All that the script does in addition is to wake waiters; if none are ever woken, the server's
/// own command has the same effect.
inline bool only_deletes(const core::Send& send) {
  return send.tag.kind == core::CommandKind::release && !send.by_token && !send.shared &&
         send.others.empty() && send.capacity == 0 && send.waiter == 0 && send.not_woken == 0;
}

/// Appends a command of the engine's in Redis's words: SET key token NX PX ttl, or one of the
/// scripts, by hash or (Tag::with_source) in full. Batch appends the renewals of plain locks. The
/// caller must append the node's own words, own_words() of them: for a renewal the node's time in
/// us from which on it is too late (0: unknown), then, if says_enrolment(), the node's enrolment
/// and floor.
void append_command(std::string& out, const core::Send& send, const Surroundings& around);
/// The same for a Send that has others, with the names of its waiters.
void append_command_for_all(std::string& out, const core::Send& send, const Surroundings& around,
                            std::string_view waiter, std::string_view not_woken);
/// The same for a Send that has a capacity, with the names of its waiters.
void append_command_for_permit(std::string& out, const core::Send& send, const Surroundings& around,
                               std::string_view waiter, std::string_view not_woken);
constexpr bool says_enrolment(core::CommandKind kind) {
  using core::CommandKind;
  return kind == CommandKind::acquire || kind == CommandKind::raise || kind == CommandKind::renew ||
         kind == CommandKind::renewals || kind == CommandKind::acquisitions;
}
constexpr bool is_renewal(core::CommandKind kind) {
  return kind == core::CommandKind::renew || kind == core::CommandKind::renewals;
}
/// The number of the node's own words in a command: see append_command.
constexpr std::size_t own_words(core::CommandKind kind) {
  return is_renewal(kind) ? 3 : says_enrolment(kind) ? 2 : 0;
}
void append_command(std::string& out, const core::SendEntries& sending);
/// Appends the head of a command of `words` words.
void append_count(std::string& out, std::size_t words);
/// Appends one word of a command: `word` followed by `rest`.
void append_word(std::string& out, std::string_view word, std::string_view rest = {});
void append_number(std::string& out, std::int64_t number);

/// The meaning of a reply to a command of this kind; for a Batch, what all its locks have in
/// common. The caller sets `asked`.
core::Answer answer_of(core::CommandKind kind, const Reply& reply);
/// The meaning of one lock's four words in a reply to CommandKind::acquisitions.
core::Answer acquisition_of(std::span<const Reply> words);
/// Reads the reply to a SendEntries into `places`, which is empty if the reply is malformed.
void places_of(const Reply& reply, std::vector<core::Place>& places);
/// The meaning of an error reply to any command.
Vote vote_of_error(std::string_view text);

}  // namespace quorumlock::redis
