#include "verbs/acquire.hpp"

#include <chrono>

#include "verbs/vote.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis::acquire {
namespace {

using enum Word;

/// Reads why an acquisition was refused: the milliseconds until that may change, the greatest
/// ticket in the line, and the holder's token or, of a semaphore, a free slot.
void read_refusal(std::span<const Reply> words, core::Answer& answer) {
  if (!words.empty()) answer.due = milliseconds_of(words[0].integer);
  if (words.size() > 1) answer.greatest_ticket = positive(words[1].integer);
  if (words.size() <= 2) return;
  if (words[2].type == Reply::Type::string) {
    answer.holder = words[2].text;
  } else {
    answer.free_slot = slot_of(words[2].integer);
  }
}

/// The words of a reply without the holder's token, which comes last in it.
std::span<const Reply> numbers_of(std::span<const Reply> words) {
  const bool names_holder = !words.empty() && words.back().type == Reply::Type::string;
  return names_holder ? words.first(words.size() - 1) : words;
}

/// If not all locks of a batch were granted with one fence, each has four words in the reply, after
/// the time that comes once, and the holders come last, one for each lock.
constexpr std::size_t words_of_a_lock = 4;

core::Answer read_batch(const Reply& reply) {
  const std::span<const Reply> words = reply.elements;
  if (reply.type != Reply::Type::array || words.empty() || words[0].type != Reply::Type::integer ||
      words[0].integer < 0) {
    return {Vote::failed};
  }
  core::Answer answer{words.size() == 1 ? Vote::not_enrolled : Vote::granted};
  answer.node_time = words[0].integer;
  return answer;
}

/// Reads one lock's {verdict, counter, ms until that may change, greatest ticket}, or its error.
void read_lock(std::span<const Reply> words, core::Answer& answer) {
  answer.vote = Vote::failed;
  if (words[0].type == Reply::Type::error) answer.vote = vote_of_error(words[0].text);
  if (!is_numbers(words)) return;
  const VoteCode verdict{words[0].integer};
  if ((verdict != VoteCode::held && verdict != VoteCode::granted) || words[1].integer < 0) return;
  answer.vote = verdict == VoteCode::granted ? Vote::granted : Vote::held;
  answer.fence = static_cast<std::uint64_t>(words[1].integer);
  if (verdict == VoteCode::held) read_refusal(words.subspan(2), answer);
}

bool read_each(const Reply& reply, std::span<core::Answer> answers) {
  const std::span<const Reply> words = reply.elements;
  if (words.size() == 2) {
    if (words[1].type != Reply::Type::integer || words[1].integer < 0) return false;
    for (core::Answer& answer : answers) {
      answer.vote = Vote::granted;
      answer.fence = static_cast<std::uint64_t>(words[1].integer);
    }
    return true;
  }
  if (words.size() != 2 + words_of_a_lock * answers.size()) return false;
  const std::span<const Reply> holders = words.back().elements;
  if (holders.size() != answers.size()) return false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    read_lock(words.subspan(1 + words_of_a_lock * i, words_of_a_lock), answers[i]);
    if (answers[i].vote == Vote::held) answers[i].holder = holders[i].text;
  }
  return true;
}

}  // namespace

constinit const Call general{
    &acquire_all_script,
    {locks, counters},
    {token, ttl, fence, wall, fenced, waiter, ticket, entry_life, mode, slot, capacity}};

constinit const BatchForm batch{
    .kind = core::CommandKind::acquisitions,
    .most = 32,
    .common = {&acquire_script, {}, {ttl, wall, fenced, fence}},
    .of_each = {nullptr, {}, {locks, token, fence}},
    .takes = [](const core::Send& send) { return send.lock.is_plain() && send.place.number == 0; },
    .read = read_batch,
    .read_each = read_each,
};

void append_set(std::string& out, const core::Send& send) {
  Writer writer(out);
  writer.count(6);
  writer.word("SET");
  writer.word(send.lock.first);
  writer.word(send.token);
  writer.word("NX");
  writer.word("PX");
  writer.number(send.ttl / std::chrono::milliseconds(1));
  writer.finish();
}

core::Answer read(const Reply& reply) {
  core::Answer answer;
  const std::span<const Reply> words = reply.elements;
  const VoteCode verdict = read_vote(numbers_of(words), answer);
  if (verdict == VoteCode::held) {
    read_refusal(words.subspan(3), answer);
  } else if (verdict == VoteCode::granted && words.size() > 3) {
    answer.next_waiter = positive(words[3].integer);
  } else if (verdict == VoteCode::capacity_differs) {
    answer.vote = Vote::capacity_differs;
    answer.capacity = slot_of(words[1].integer);
  }
  return answer;
}

core::Answer read_set(const Reply& reply) {
  if (reply.type == Reply::Type::status && reply.text == "OK") return {Vote::granted};
  return {reply.type == Reply::Type::nil ? Vote::held : Vote::failed};
}

}  // namespace quorumlock::redis::acquire
