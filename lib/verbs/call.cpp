#include "verbs/call.hpp"

#include <chrono>
#include <span>
#include <string>

#include "verbs/keys.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

void write_script(Writer& writer, const Script& script, bool whole) {
  writer.word(whole ? "EVAL" : "EVALSHA");
  writer.word(whole ? script.source : script.sha1);
}

void write_ms(Writer& writer, core::Duration span) {
  writer.number(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

void write_waiter(Writer& writer, const core::LinePlace& place) {
  std::array<char, waiter_room> name;
  writer.word(std::string_view(name.data(), put_waiter(name.data(), place)));
}

void write_keys(Writer& writer, std::string_view prefix, const core::LockSet& locks) {
  writer.word(prefix, locks.first);
  for (const std::string& other : locks.others) writer.word(prefix, other);
}

/// Writes the key of a permit's slot, by the key of its semaphore.
void write_slot_key(Writer& writer, const core::LockSet& lock) {
  std::string key(permit_prefix);
  key.append(lock.first.substr(semaphore_prefix.size())).append(1, ':');
  writer.word(key, std::to_string(lock.permit.slot));
}

std::string_view mode_of(const core::LockSet& lock) {
  if (lock.by_token) return "t";
  return lock.mode == LockMode::shared ? "r" : "w";
}

void write(Writer& writer, std::span<const Word> words, const core::Send& send,
           const Surroundings& around) {
  for (const Word word : words) {
    switch (word) {
      case Word::none: return;
      case Word::locks: write_keys(writer, {}, send.lock); break;
      case Word::counters: write_keys(writer, counter_prefix, send.lock); break;
      case Word::held:
        send.lock.permit.capacity != 0 ? write_slot_key(writer, send.lock)
                                       : write_keys(writer, {}, send.lock);
        break;
      case Word::token: writer.word(send.token); break;
      case Word::ttl: write_ms(writer, send.ttl); break;
      case Word::fence: writer.number(static_cast<std::int64_t>(send.fence)); break;
      case Word::wall: writer.number(around.wall_us); break;
      case Word::fenced: writer.word(send.fenced ? "1" : "0"); break;
      case Word::waiter: write_waiter(writer, send.place); break;
      case Word::ticket: writer.number(static_cast<std::int64_t>(send.place.ticket)); break;
      case Word::entry_life: write_ms(writer, send.entry_life); break;
      case Word::not_woken: write_waiter(writer, send.not_woken); break;
      case Word::mode: writer.word(mode_of(send.lock)); break;
      case Word::slot: writer.number(send.lock.permit.slot); break;
      case Word::capacity: writer.number(send.lock.permit.capacity); break;
      case Word::replant: writer.word(send.replant ? "1" : "0"); break;
      case Word::left: writer.number(send.left / std::chrono::microseconds(1)); break;
      case Word::barred:
        write_ms(writer, send.lock.by_token ? around.max_ttl : core::Duration::zero());
        break;
    }
  }
}

}  // namespace

void append_call(std::string& out, const Call& call, const core::Send& send,
                 const Surroundings& around) {
  const std::size_t keys = call.key_count * (1 + send.lock.others.size());
  Writer writer(out);
  writer.count(3 + keys + call.arg_count + own_words(send.tag.kind));
  write_script(writer, *call.script, send.tag.with_source);
  writer.number(static_cast<std::int64_t>(keys));
  write(writer, call.keys, send, around);
  write(writer, call.args, send, around);
  writer.finish();
}

void LockWords::add(const Call& of_each, const core::Send& send) {
  const auto append = [&send](std::string& out, std::span<const Word> words) {
    Writer writer(out, 128);
    write(writer, words, send, {});
    writer.finish();
  };
  if (of_each.key_count != 0) append(keys, of_each.keys);
  append(args, of_each.args);
  ++count;
}

void append_call(std::string& out, const Call& common, const Call& of_each, const LockWords& locks,
                 const core::Send& first, const Surroundings& around) {
  const std::size_t keys = common.key_count + locks.count * of_each.key_count;
  const std::size_t args = common.arg_count + locks.count * of_each.arg_count;
  Writer writer(out);
  writer.count(3 + keys + args + own_words(first.tag.kind));
  write_script(writer, *common.script, first.tag.with_source);
  writer.number(static_cast<std::int64_t>(keys));
  write(writer, common.keys, first, around);
  writer.written(locks.keys);
  write(writer, common.args, first, around);
  writer.written(locks.args);
  writer.finish();
}

}  // namespace quorumlock::redis
