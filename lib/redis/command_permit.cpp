#include <chrono>
#include <utility>
#include <vector>

#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

// How the commands for a semaphore's permits are said to Redis.
namespace quorumlock::redis {

/// A permit is a lock with a key of its own; counter and line are the semaphore's, whose key the
/// Send has.
void append_command_for_permit(std::string& out, const core::Send& send, const Surroundings& around,
                               std::string_view waiter, std::string_view not_woken) {
  using core::CommandKind;
  const CommandKind kind = send.tag.kind;
  const auto ms = [](core::Duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
  };
  std::vector<std::string> words;
  const auto add = [&words](std::initializer_list<std::string_view> more) {
    for (const std::string_view word : more) words.emplace_back(word);
  };
  const auto call = [&](const Script& script, std::initializer_list<std::string_view> keys) {
    const bool whole = send.tag.with_source;
    add({whole ? "EVAL" : "EVALSHA", whole ? script.source : script.sha1,
         std::to_string(keys.size())});
    add(keys);
    words.emplace_back(send.token);
  };
  const std::string slot = std::to_string(send.slot);
  const std::string capacity = std::to_string(send.capacity);
  const std::string permit = std::string(permit_prefix) + slot + ":" +
                             std::string(send.key.substr(semaphore_prefix.size()));
  const std::string counter = std::string(counter_prefix) + std::string(send.key);
  const std::string life = ms(counter_life);
  const std::string fence = std::to_string(send.fence);
  switch (kind) {
    case CommandKind::acquire:
      call(acquire_permit_script, {send.key, counter, enrolment_key});
      add({ms(send.ttl), fence, std::to_string(around.wall_us), life, send.fenced ? "1" : "0",
           waiter, std::to_string(send.ticket), ms(send.entry_life), slot, capacity});
      break;
    case CommandKind::raise:
      call(raise_script, {permit, counter, enrolment_key});
      add({fence, life});
      break;
    case CommandKind::renew:
      call(renew_permit_script, {permit, counter, enrolment_key, send.key});
      add({ms(send.ttl), fence, send.replant ? "1" : "0", life, capacity});
      break;
    default:
      call(release_permit_script, {send.key});
      add({slot, waiter, not_woken});
  }
  // The node's own two words come behind.
  const std::size_t own = says_enrolment(kind) ? 2 : 0;
  out.append("*").append(std::to_string(words.size() + own)).append("\r\n");
  for (const std::string& word : words) append_word(out, word);
}

}  // namespace quorumlock::redis
