#include "redis/batch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "core/mutants.hpp"
#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::redis {

using core::CommandKind;
using core::Mutant;
using core::planted;

namespace {

const Script& script_of(CommandKind kind) {
  return kind == CommandKind::renew     ? renew_script
         : kind == CommandKind::acquire ? acquire_script
                                        : release_script;
}

/// Decodes one lock's digit in a reply to renewals.
void read_digit(char digit, core::Answer& answer) {
  switch (digit) {
    case '0': answer.vote = Vote::held; break;
    case '1': answer.vote = Vote::granted; break;
    case '2':
      answer.vote =
          planted(Mutant::replant_without_enrolment) || planted(Mutant::replant_after_the_old_end)
              ? Vote::granted
              : Vote::absent;
      answer.replanted = true;
      break;
    case '3': answer.vote = Vote::absent; break;
    case '4': answer.vote = Vote::out_of_memory; break;
    case '5': answer.vote = Vote::timed_out; break;
    default: answer.vote = Vote::failed;
  }
}

}  // namespace

bool Batch::can_be(const core::Send& send) {
  if (!send.others.empty() || send.capacity != 0 || send.shared || send.by_token) return false;
  switch (send.tag.kind) {
    case CommandKind::renew: return true;
    case CommandKind::acquire: return send.waiter == 0;
    case CommandKind::release: return only_deletes(send);
    default: return false;
  }
}

bool Batch::takes(const core::Send& send) const {
  if (empty()) return true;
  const bool renews = send.tag.kind == CommandKind::renew;
  return tags_.size() < (renews ? most_renewals : most) && send.to == first_.to &&
         send.tag.kind == first_.tag.kind && send.tag.with_source == first_.tag.with_source &&
         send.ttl == first_.ttl && send.replant == first_.replant && send.fenced == first_.fenced;
}

void Batch::add(const core::Send& send) {
  if (empty()) {
    first_ = send;
    first_.key = first_key_ = send.key;
    first_.token = first_token_ = send.token;
  }
  // A single command goes out as it is, not as a batch, unless it is a renewal.
  const bool renews = send.tag.kind == CommandKind::renew;
  least_left_ = empty() ? send.left : std::min(least_left_, send.left);
  if (tags_.size() == 1 && !renews) append_words_of(first_);
  if (!empty() || renews) append_words_of(send);
  tags_.push_back(send.tag);
}

void Batch::append_words_of(const core::Send& send) {
  const CommandKind kind = send.tag.kind;
  append_word(kind == CommandKind::renew ? keys_ : args_, send.key);
  append_word(args_, send.token);
  if (kind != CommandKind::release) append_number(args_, static_cast<std::int64_t>(send.fence));
  if (kind == CommandKind::renew) append_number(args_, send.left / std::chrono::microseconds(1));
}

CommandKind Batch::kind() const {
  switch (first_.tag.kind) {
    case CommandKind::renew: return CommandKind::renewals;
    case CommandKind::acquire: return CommandKind::acquisitions;
    default: return CommandKind::releases;
  }
}

void Batch::append_to(std::string& out, std::int64_t wall_us, std::string_view counter_life) const {
  using std::chrono::milliseconds;
  const auto append_ms = [&out](core::Duration span) {
    append_number(out, std::chrono::duration_cast<milliseconds>(span).count());
  };
  const CommandKind kind = first_.tag.kind;
  const bool renews = kind == CommandKind::renew;
  const bool releases = kind == CommandKind::release;
  const std::size_t locks = tags_.size();
  // The number of words in addition to those of each lock.
  const std::size_t around = (releases ? 3 : 7) + own_words(this->kind());
  append_count(out, around + (releases ? 2 : renews ? 4 : 3) * locks);
  append_word(out, first_.tag.with_source ? "EVAL" : "EVALSHA");
  append_word(out, first_.tag.with_source ? script_of(kind).source : script_of(kind).sha1);
  append_number(out, static_cast<std::int64_t>(renews ? locks + 1 : releases ? 0 : 1));
  if (!releases) append_word(out, enrolment_key);
  out += keys_;
  if (!releases) {
    append_ms(first_.ttl);
    if (renews) {
      append_word(out, first_.replant ? "1" : "0");
    } else {
      append_number(out, wall_us);
    }
    append_word(out, renews || first_.fenced ? counter_life : "0");
  }
  out += args_;
}

void Batch::clear() {
  tags_.clear();
  keys_.clear();
  args_.clear();
}

const core::Answer& BatchVotes::of(std::size_t number) const {
  if (planted(Mutant::batch_answers_mixed_up)) return answers_[(number + 1) % answers_.size()];
  return answers_[number];
}

void BatchVotes::read(CommandKind kind, const core::Answer& said, const Reply* reply,
                      std::size_t locks) {
  answers_.assign(locks, said);
  // One reading of the node's clock per batch is enough.
  for (std::size_t i = 1; i < locks; ++i) answers_[i].node_time = 0;
  if (said.vote != Vote::granted || reply == nullptr) return;
  const std::span<const Reply> words = reply->elements;
  const bool renewals = kind == CommandKind::renewals;
  const std::size_t told = renewals                        ? words[1].text.size()
                           : kind == CommandKind::releases ? words.size()
                                                           : (words.size() - 1) / 4;
  if (told != locks) {
    for (core::Answer& answer : answers_) answer.vote = Vote::failed;
    return;
  }
  for (std::size_t i = 0; i < locks; ++i) {
    core::Answer& answer = answers_[i];
    if (renewals) {
      read_digit(words[1].text[i], answer);
    } else if (kind == CommandKind::releases) {
      answer = answer_of(CommandKind::release, words[i]);
    } else {
      const std::int64_t node_time = answer.node_time;
      answer = acquisition_of(words.subspan(1 + 4 * i, 4));
      answer.node_time = node_time;
    }
    answer.asked = said.asked;
  }
}

}  // namespace quorumlock::redis
