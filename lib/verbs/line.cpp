#include "verbs/line.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis::line {

void append(std::string& out, const core::SendEntries& sending) {
  const bool whole = sending.tag.with_source;
  const std::size_t count = sending.entries.size();
  append_count(out, 4 + 3 * count);
  append_word(out, whole ? "EVAL" : "EVALSHA");
  append_word(out, whole ? queue_script.source : queue_script.sha1);
  append_number(out, static_cast<std::int64_t>(count));
  for (const core::Entry& entry : sending.entries) append_word(out, entry.key);
  append_number(out, sending.life / std::chrono::milliseconds(1));
  for (const core::Entry& entry : sending.entries) {
    std::array<char, waiter_room> name;
    const char* const end = put_waiter(
        name.data(), {sending.process, entry.waiter, entry.ticket, entry.shared, sending.label});
    append_word(out, std::string_view(name.data(), end));
    append_number(out, static_cast<std::int64_t>(entry.ticket));
  }
}

core::Answer read(const Reply& reply) {
  return {reply.type == Reply::Type::array ? Vote::granted : Vote::failed};
}

void read_places(const Reply& reply, std::vector<core::Place>& places) {
  places.clear();
  constexpr std::size_t words_of_an_entry = 5;
  if (reply.type != Reply::Type::array || reply.elements.size() % words_of_an_entry != 0) return;
  for (std::size_t i = 0; i < reply.elements.size(); i += words_of_an_entry) {
    const std::span<const Reply> words = reply.elements.subspan(i, words_of_an_entry);
    if (!is_numbers(words.first(2)) || words[2].type != Reply::Type::string ||
        !is_numbers(words.subspan(3))) {
      return places.clear();
    }
    core::Place& place = places.emplace_back();
    place.before = static_cast<int>(std::clamp<std::int64_t>(words[0].integer, 0, 3));
    place.free = words[1].integer > 0;
    place.slot = slot_of(words[1].integer);
    place.holder = words[2].text;
    place.due = milliseconds_of(words[3].integer);
    place.greatest_ticket = positive(words[4].integer);
  }
}

}  // namespace quorumlock::redis::line
