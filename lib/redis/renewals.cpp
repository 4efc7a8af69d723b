#include "redis/renewals.hpp"

#include <chrono>
#include <cstdint>

#include "core/mutants.hpp"
#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::redis {

using core::Mutant;
using core::planted;

bool Renewals::can_be(const core::Send& send) {
  return send.tag.kind == core::CommandKind::renew && send.others.empty() && send.capacity == 0 &&
         !send.shared && !send.by_token;
}

bool Renewals::takes(const core::Send& send) const {
  return empty() || (tags_.size() < most && send.to == to_ && send.ttl == ttl_ &&
                     send.replant == replant_ && send.tag.with_source == with_source_);
}

void Renewals::add(const core::Send& send) {
  to_ = send.to;
  ttl_ = send.ttl;
  replant_ = send.replant;
  with_source_ = send.tag.with_source;
  tags_.push_back(send.tag);
  append_word(keys_, send.key);
  append_word(args_, send.token);
  append_number(args_, static_cast<std::int64_t>(send.fence));
}

void Renewals::append_to(std::string& out) const {
  using std::chrono::milliseconds;
  constexpr std::size_t around = 9;  // what is beside keys, tokens and fences
  append_count(out, around + 3 * tags_.size());
  append_word(out, with_source_ ? "EVAL" : "EVALSHA");
  append_word(out, with_source_ ? renew_script.source : renew_script.sha1);
  append_number(out, static_cast<std::int64_t>(tags_.size() + 1));
  append_word(out, enrolment_key);
  out += keys_;
  append_number(out, std::chrono::duration_cast<milliseconds>(ttl_).count());
  append_word(out, replant_ ? "1" : "0");
  append_number(out, std::chrono::duration_cast<milliseconds>(counter_life).count());
  out += args_;
}

void Renewals::clear() {
  tags_.clear();
  keys_.clear();
  args_.clear();
}

void RenewalVotes::read(const core::Answer& said, const Reply* reply, std::size_t renewals) {
  said_ = said;
  digits_.clear();
  if (said.vote != Vote::granted || reply == nullptr) return;
  const std::string_view digits = reply->elements[1].text;
  if (digits.size() == renewals) {
    digits_ = digits;
  } else {
    said_.vote = Vote::failed;
  }
}

core::Answer RenewalVotes::of(std::size_t number) const {
  core::Answer answer = said_;
  // Once for all of them is enough.
  if (number > 0) answer.node_time = 0;
  if (digits_.empty()) return answer;
  switch (digits_[number]) {
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
    default: answer.vote = Vote::failed;
  }
  return answer;
}

}  // namespace quorumlock::redis
