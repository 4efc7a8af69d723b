#include <chrono>
#include <concepts>

#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"

// The commands for a semaphore's permits in Redis's words.
namespace quorumlock::redis {
namespace {

/// One word of a command, in parts.
struct Word {
  template <std::convertible_to<std::string_view> Text>
  Word(const Text& text) : parts{text} {}
  Word(std::string_view one, std::string_view two, std::string_view three = {},
       std::string_view four = {})
      : parts{one, two, three, four} {}
  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    return size;
  }
  std::array<std::string_view, 4> parts;
};

/// Appends the words of a command, to which the node adds `of_the_node` words of its own.
void append_words(std::string& out, std::size_t of_the_node, std::initializer_list<Word> words) {
  std::size_t room = number_room;
  for (const Word& word : words) room += number_room + word.size() + 2;
  const std::size_t before = out.size();
  out.resize(before + room);
  char* at = put_number(out.data() + before, '*', words.size() + of_the_node);
  for (const Word& word : words) {
    at = put_number(at, '$', word.size());
    for (const std::string_view part : word.parts) at = std::copy(part.begin(), part.end(), at);
    *at++ = '\r';
    *at++ = '\n';
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

}  // namespace

/// A permit is a lock with a key of its own; the counter and the line belong to the semaphore,
/// whose key the Send has.
void append_command_for_permit(std::string& out, const core::Send& send, const Surroundings& around,
                               std::string_view waiter, std::string_view not_woken) {
  using core::CommandKind;
  const auto ms = [](core::Duration span) {
    return Number(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
  };
  const bool whole = send.tag.with_source;
  const std::string_view eval = whole ? "EVAL" : "EVALSHA";
  const auto text = [whole](const Script& script) { return whole ? script.source : script.sha1; };
  const Number slot(send.slot);
  const Number capacity(send.capacity);
  const Number fence(static_cast<std::int64_t>(send.fence));
  const std::string_view life = around.counter_life;
  const Word permit(permit_prefix, slot, ":", send.key.substr(semaphore_prefix.size()));
  const Word counter(counter_prefix, send.key);
  switch (send.tag.kind) {
    case CommandKind::acquire:
      return append_words(
          out, 2,
          {eval, text(acquire_permit_script), "3", send.key, counter, enrolment_key, send.token,
           ms(send.ttl), fence, Number(around.wall_us), life, send.fenced ? "1" : "0", waiter,
           Number(static_cast<std::int64_t>(send.ticket)), ms(send.entry_life), slot, capacity});
    case CommandKind::raise:
      return append_words(
          out, 2,
          {eval, text(raise_script), "3", permit, counter, enrolment_key, send.token, fence, life});
    case CommandKind::renew:
      return append_words(
          out, own_words(CommandKind::renew),
          {eval, text(renew_permit_script), "4", permit, counter, enrolment_key, send.key,
           send.token, ms(send.ttl), fence, send.replant ? "1" : "0", life, capacity});
    default:
      append_words(
          out, 0,
          {eval, text(release_permit_script), "1", send.key, send.token, slot, waiter, not_woken});
  }
}

}  // namespace quorumlock::redis
