#include "redis/native_acquire.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "core/mutants.hpp"
#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

namespace {

/// The fence of a script is below this as well: Lua knows no whole numbers from here on.
constexpr std::int64_t fences_end = std::int64_t{1} << 53U;

/// The commands, in their order.
enum class Step { set, enrolment, line, counter, life, time };
using Steps = std::array<Step, 6>;

Steps steps() {
  using enum Step;
  const bool early = planted(Mutant::counted_before_it_is_set);
  if (early) return {counter, set, enrolment, line, life, time};
  return {set, enrolment, line, counter, life, time};
}

/// Appends a command about a key of ours with the lock's behind.
void append_about(std::string& out, std::string_view command, std::string_view prefix,
                  std::string_view key, std::optional<std::string_view> argument = {}) {
  append_count(out, argument ? 3 : 2);
  append_word(out, command);
  append_word(out, prefix, key);
  if (argument) append_word(out, *argument);
}

}  // namespace

void append_native_acquire(std::string& out, const core::Send& send) {
  const Number ttl(std::chrono::duration_cast<std::chrono::milliseconds>(send.ttl).count());
  const Number life(std::chrono::duration_cast<std::chrono::milliseconds>(counter_life).count());
  for (const Step step : steps()) {
    switch (step) {
      case Step::set: append_command(out, {"SET", send.key, send.token, "NX", "PX", ttl}); break;
      case Step::enrolment: append_command(out, {"GET", enrolment_key}); break;
      case Step::line: append_about(out, "EXISTS", queue_prefix, send.key); break;
      case Step::counter: append_about(out, "INCR", counter_prefix, send.key); break;
      case Step::life: append_about(out, "PEXPIRE", counter_prefix, send.key, life); break;
      case Step::time: append_command(out, {"TIME"}); break;
    }
  }
}

void append_counter_taken_back(std::string& out, std::string_view key) {
  append_count(out, 5);
  append_word(out, "EVALSHA");
  append_word(out, release_script.sha1);
  append_word(out, "1");
  append_word(out, counter_prefix, key);
  append_word(out, "1");
}

bool NativeAcquireReplies::add(const Reply& reply, std::string_view record, std::uint64_t floor) {
  const Steps all = steps();
  const bool is_error = reply.type == Reply::Type::error;
  const bool is_number = reply.type == Reply::Type::integer && reply.integer >= 0;
  bool understood = is_error;
  if (is_error && refused_ == Vote::pending) refused_ = vote_of_error(reply.text);
  switch (all[replies_]) {
    case Step::set:
      is_set_ = reply.type == Reply::Type::status && reply.text == "OK";
      understood = understood || is_set_ || reply.type == Reply::Type::nil;
      break;
    case Step::enrolment:
      enrolled_ = reply.type == Reply::Type::string && reply.text == record;
      understood =
          understood || reply.type == Reply::Type::string || reply.type == Reply::Type::nil;
      break;
    case Step::line:
      waited_for_ = is_number && reply.integer > 0;
      understood = understood || is_number;
      break;
    case Step::counter:
      understood = understood || (is_number && reply.integer < fences_end);
      if (!is_number || reply.integer >= fences_end) break;
      answer_.fence = static_cast<std::uint64_t>(reply.integer);
      answer_.began = answer_.fence == 1;
      answer_.behind = answer_.fence <= floor;
      answer_.fence = std::max(answer_.fence, answer_.behind ? floor + 1 : 0);
      break;
    case Step::life: understood = understood || is_number; break;
    case Step::time:
      answer_.node_time = time_of(reply).value_or(0);
      understood = understood || answer_.node_time != 0;
      break;
  }
  if (!understood && refused_ == Vote::pending) refused_ = Vote::failed;
  return ++replies_ == all.size();
}

core::Answer NativeAcquireReplies::take() {
  const NativeAcquireReplies all = std::exchange(*this, NativeAcquireReplies());
  core::Answer answer = all.answer_;
  const bool enrolled = all.enrolled_ || planted(Mutant::enrolment_not_compared);
  const bool waited_for = all.waited_for_ && !planted(Mutant::line_not_looked_at);
  if (all.refused_ != Vote::pending) {
    answer.vote = all.refused_;
  } else if (!enrolled) {
    answer.vote = Vote::not_enrolled;
  } else {
    answer.vote = all.is_set_ && !waited_for ? Vote::granted : Vote::held;
  }
  if (answer.vote == Vote::not_enrolled) {
    answer.fence = 0;
  } else {
    answer.began = false;
  }
  if (answer.vote == Vote::granted) return answer;
  answer.key_set = all.is_set_ && !planted(Mutant::key_left_where_others_wait);
  answer.behind = false;
  return answer;
}

}  // namespace quorumlock::redis
