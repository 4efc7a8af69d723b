#include "redis/command.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "core/mutants.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"

namespace quorumlock::redis {
namespace {

using core::CommandKind;

/// A node's report of a time to come; not positive if the node does not know.
core::Duration milliseconds_of(std::int64_t number) {
  constexpr std::int64_t most = 1'000'000'000'000;  // 30 years
  return std::chrono::milliseconds(std::clamp<std::int64_t>(number, -1, most));
}

/// The number of a slot, or of all slots; zero if `number` is out of range.
int slot_of(std::int64_t number) {
  return number < 0 || number > 1'000'000 ? 0 : static_cast<int>(number);
}

/// Appends a vote script's call without the last `own` words, which are the node's. A word without
/// data stands for the counter's key: counter_prefix followed by the lock's key.
void append_vote(std::string& out, std::string_view key,
                 std::initializer_list<std::string_view> words, std::size_t own = 2) {
  std::size_t room = number_room + counter_prefix.size() + key.size();
  for (const std::string_view word : words) room += number_room + word.size() + 2;
  const std::size_t before = out.size();
  out.resize(before + room);
  char* at = put_number(out.data() + before, '*', words.size() + own);
  for (const std::string_view word : words) {
    if (word.data() == nullptr) {
      at = put_number(at, '$', counter_prefix.size() + key.size());
      at = std::copy(counter_prefix.begin(), counter_prefix.end(), at);
      at = std::copy(key.begin(), key.end(), at);
    } else {
      at = put_number(at, '$', word.size());
      at = std::copy(word.begin(), word.end(), at);
    }
    *at++ = '\r';
    *at++ = '\n';
  }
  out.resize(static_cast<std::size_t>(at - out.data()));
}

}  // namespace

void append_command(std::string& out, std::span<const std::string_view> words) {
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

void append_word(std::string& out, std::string_view word, std::string_view rest) {
  std::array<char, number_room> head;
  const char* end = put_number(head.data(), '$', word.size() + rest.size());
  out.append(head.data(), static_cast<std::size_t>(end - head.data()));
  out.append(word);
  out.append(rest);
  out.append("\r\n");
}

void append_number(std::string& out, std::int64_t number) {
  append_word(out, Number(number));
}

void append_count(std::string& out, std::size_t words) {
  std::array<char, number_room> head;
  const char* end = put_number(head.data(), '*', words);
  out.append(head.data(), static_cast<std::size_t>(end - head.data()));
}

void append_command(std::string& out, const core::Send& send, const Surroundings& around) {
  using std::chrono::milliseconds;
  if (!send.others.empty()) {
    return append_command_for_all(out, send, around,
                                  WaiterName(send.shared, send.process, send.waiter),
                                  WaiterName(send.not_woken_reads, send.process, send.not_woken));
  }
  if (send.capacity != 0) {
    return append_command_for_permit(out, send, around,
                                     WaiterName(false, send.process, send.waiter),
                                     WaiterName(false, send.process, send.not_woken));
  }
  const auto ttl = [&send] {
    return Number(std::chrono::duration_cast<milliseconds>(send.ttl).count());
  };
  const auto fence = [&send] { return Number(static_cast<std::int64_t>(send.fence)); };
  const bool whole = send.tag.with_source;
  const std::string_view life = around.counter_life;
  const std::string_view eval = whole ? "EVAL" : "EVALSHA";
  const auto text = [whole](const Script& script) { return whole ? script.source : script.sha1; };
  switch (send.tag.kind) {
    case CommandKind::set:
      return append_command(out, {"SET", send.key, send.token, "NX", "PX", ttl()});
    case CommandKind::acquire:
      if (send.shared || (send.ordered && send.waiter != 0)) {
        const WaiterName waiter(send.shared, send.process, send.waiter);
        const Number entry_life(std::chrono::duration_cast<milliseconds>(send.entry_life).count());
        return append_vote(out, send.key,
                           {eval,
                            text(send.shared ? acquire_shared_script : acquire_ordered_script),
                            "3",
                            send.key,
                            {},
                            enrolment_key,
                            send.token,
                            ttl(),
                            fence(),
                            Number(around.wall_us),
                            send.fenced ? life : "0",
                            waiter,
                            Number(static_cast<std::int64_t>(send.ticket)),
                            entry_life});
      }
      return append_vote(out, send.key,
                         {eval,
                          text(acquire_script),
                          "3",
                          send.key,
                          {},
                          enrolment_key,
                          send.token,
                          ttl(),
                          fence(),
                          Number(around.wall_us),
                          send.fenced ? life : "0"});
    case CommandKind::raise:
      return append_vote(
          out, send.key,
          {eval, text(raise_script), "3", send.key, {}, enrolment_key, send.token, fence(), life});
    case CommandKind::renew:
      return append_vote(out, send.key,
                         {eval,
                          text(renew_shared_script),
                          "3",
                          send.key,
                          {},
                          enrolment_key,
                          send.token,
                          ttl(),
                          fence(),
                          send.replant ? "1" : "0",
                          life},
                         own_words(CommandKind::renew));
    case CommandKind::release:
      if (send.by_token) {
        const Number max_ttl(std::chrono::duration_cast<milliseconds>(around.max_ttl).count());
        return append_command(
            out, {eval, text(release_token_script), "1", send.key, send.token, max_ttl});
      }
      if (send.waiter != 0 || send.not_woken != 0) {
        return append_command(out,
                              {eval, text(release_script), "1", send.key, send.token,
                               WaiterName(send.shared, send.process, send.waiter),
                               WaiterName(send.not_woken_reads, send.process, send.not_woken)});
      }
      switch (around.deletion) {
        case Deletion::delex: return append_command(out, {"DELEX", send.key, "IFEQ", send.token});
        case Deletion::delifeq: return append_command(out, {"DELIFEQ", send.key, send.token});
        case Deletion::script: break;
      }
      return append_command(out, {eval, text(release_script), "1", send.key, send.token});
    case CommandKind::queue:
    case CommandKind::query:
    case CommandKind::renewals:
    case CommandKind::acquisitions:
    case CommandKind::releases:
    case CommandKind::repair:
    case CommandKind::clock: return;  // the engine never sends these
  }
}

void append_command(std::string& out, const core::SendEntries& sending) {
  using std::chrono::milliseconds;
  const bool whole = sending.tag.with_source;
  const std::size_t count = sending.entries.size();
  std::array<char, number_room> head;
  out.append(head.data(), put_number(head.data(), '*', 4 + 3 * count));
  append_word(out, whole ? "EVAL" : "EVALSHA");
  append_word(out, whole ? queue_script.source : queue_script.sha1);
  append_word(out, Number(static_cast<std::int64_t>(count)));
  for (const core::Entry& entry : sending.entries) append_word(out, entry.key);
  append_word(out, Number(std::chrono::duration_cast<milliseconds>(sending.life).count()));
  for (const core::Entry& entry : sending.entries) {
    append_word(out, WaiterName(entry.shared, sending.process, entry.waiter));
    append_word(out, Number(static_cast<std::int64_t>(entry.ticket)));
  }
}

void places_of(const Reply& reply, std::vector<core::Place>& places) {
  places.clear();
  if (reply.type != Reply::Type::array || reply.elements.size() % 4 != 0) return;
  for (const Reply& word : reply.elements) {
    if (word.type != Reply::Type::integer) return;
  }
  for (std::size_t i = 0; i < reply.elements.size(); i += 4) {
    const std::span<const Reply> words = reply.elements.subspan(i, 4);
    core::Place& place = places.emplace_back();
    place.before = static_cast<int>(std::clamp<std::int64_t>(words[0].integer, 0, 3));
    place.free = words[1].integer > 0;
    place.slot = slot_of(words[1].integer);
    place.holder = -std::clamp<std::int64_t>(words[1].integer, -(1 << 30), 0);
    place.due = milliseconds_of(words[2].integer);
    place.greatest_ticket = static_cast<std::uint64_t>(std::max<std::int64_t>(words[3].integer, 0));
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
  // An error of redis.call inside a script is passed on after words of the script's own.
  if (text.find("WRONGTYPE") != text.npos) return Vote::held;
  if (text.find("READONLY") != text.npos) return Vote::read_only;
  if (text.find("OOM ") != text.npos) return Vote::out_of_memory;
  for (const std::string_view forbidden :
       {"NOPERM", "permissions to", "user executing the script"}) {
    if (text.find(forbidden) != text.npos) return Vote::unauthorized;
  }
  return Vote::failed;
}

namespace {

/// Decodes a vote script's reply: {what, counter, time, ...}.
core::Answer answer_of_vote(CommandKind kind, const Reply& reply) {
  core::Answer answer{Vote::failed};
  const std::span<const Reply> words = reply.elements;
  if (reply.type != Reply::Type::array || words.size() < 3) return answer;
  for (const Reply& word : words) {
    if (word.type != Reply::Type::integer) return answer;
  }
  if (words[1].integer < 0 || words[2].integer < 0) return answer;
  switch (words[0].integer) {
    case -2:
      answer.vote = Vote::capacity_differs;
      answer.capacity = slot_of(words[1].integer);
      return answer;
    case -1: answer.vote = Vote::not_enrolled; break;
    case 0: answer.vote = Vote::held; break;
    case 1: answer.vote = Vote::granted; break;
    case 2:
      answer.vote = kind == CommandKind::renew ? Vote::absent : Vote::failed;
      if (core::planted(core::Mutant::replant_without_enrolment) ||
          core::planted(core::Mutant::replant_after_the_old_end)) {
        answer.vote = Vote::granted;
      }
      answer.replanted = kind == CommandKind::renew;
      break;
    case 3: answer.vote = kind == CommandKind::acquire ? Vote::failed : Vote::absent; break;
    case 4: answer.vote = kind == CommandKind::renew ? Vote::timed_out : Vote::failed; break;
    default: break;
  }
  answer.fence = static_cast<std::uint64_t>(words[1].integer);
  answer.node_time = words[2].integer;
  if (kind != CommandKind::acquire) return answer;
  if (answer.vote == Vote::granted && words.size() > 3) {
    answer.next_waiter = static_cast<std::uint64_t>(std::max<std::int64_t>(words[3].integer, 0));
  } else if (answer.vote == Vote::held) {
    if (words.size() > 3) answer.due = milliseconds_of(words[3].integer);
    if (words.size() > 4) {
      answer.greatest_ticket =
          static_cast<std::uint64_t>(std::max<std::int64_t>(words[4].integer, 0));
    }
    if (words.size() > 5) answer.free_slot = slot_of(words[5].integer);
  }
  return answer;
}

}  // namespace

core::Answer answer_of(CommandKind kind, const Reply& reply) {
  if (reply.type == Reply::Type::error) {
    const Vote vote = vote_of_error(reply.text);
    // A value of another type under the key is not ours, so a release has nothing to delete.
    return {kind == CommandKind::release && vote == Vote::held ? Vote::absent : vote};
  }
  switch (kind) {
    case CommandKind::set:
      if (reply.type == Reply::Type::status && reply.text == "OK") return {Vote::granted};
      if (reply.type == Reply::Type::nil) return {Vote::held};
      break;
    case CommandKind::acquire:
    case CommandKind::raise:
    case CommandKind::renew: return answer_of_vote(kind, reply);
    case CommandKind::release:
      if (reply.type != Reply::Type::integer) break;
      if (reply.integer == 1) return {Vote::granted};
      if (reply.integer == 0) return {Vote::absent};
      if (reply.integer >= 2) {
        core::Answer answer{Vote::granted};
        answer.first_in_line = reply.integer == 2;
        answer.waited_for = true;
        if (reply.integer > 3) {
          answer.greatest_ticket = static_cast<std::uint64_t>(reply.integer - 3);
        }
        return answer;
      }
      break;
    case CommandKind::queue:
    case CommandKind::clock:
      if (reply.type == Reply::Type::array) return {Vote::granted};
      break;
    case CommandKind::renewals: {
      const std::span<const Reply> words = reply.elements;
      if (reply.type != Reply::Type::array || words.size() != 2) break;
      if (words[0].type != Reply::Type::integer || words[0].integer < 0) break;
      if (words[1].type != Reply::Type::string) break;
      core::Answer answer{words[1].text.empty() ? Vote::not_enrolled : Vote::granted};
      answer.node_time = words[0].integer;
      return answer;
    }
    case CommandKind::acquisitions: {
      const std::span<const Reply> words = reply.elements;
      if (reply.type != Reply::Type::array || words.size() % 4 != 1) break;
      if (words[0].type != Reply::Type::integer || words[0].integer < 0) break;
      core::Answer answer{words.size() == 1 ? Vote::not_enrolled : Vote::granted};
      answer.node_time = words[0].integer;
      return answer;
    }
    case CommandKind::releases:
      if (reply.type == Reply::Type::array) return {Vote::granted};
      break;
    case CommandKind::query:
    case CommandKind::repair: break;
  }
  return {Vote::failed};
}

core::Answer acquisition_of(std::span<const Reply> words) {
  core::Answer answer{Vote::failed};
  if (words[0].type == Reply::Type::error) {
    answer.vote = vote_of_error(words[0].text);
    return answer;
  }
  for (const Reply& word : words) {
    if (word.type != Reply::Type::integer) return answer;
  }
  if (words[0].integer < 0 || words[0].integer > 1 || words[1].integer < 0) return answer;
  answer.vote = words[0].integer == 1 ? Vote::granted : Vote::held;
  answer.fence = static_cast<std::uint64_t>(words[1].integer);
  if (answer.vote == Vote::held) {
    answer.due = milliseconds_of(words[2].integer);
    answer.greatest_ticket =
        static_cast<std::uint64_t>(std::max<std::int64_t>(words[3].integer, 0));
  }
  return answer;
}

}  // namespace quorumlock::redis
