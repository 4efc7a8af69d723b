#include "verbs/release.hpp"

#include "verbs/vote.hpp"

namespace quorumlock::redis::release {
namespace {

using enum Word;

/// A release of one key with one holder, by which no waiter enters or leaves a line.
bool takes(const core::Send& send) {
  return send.lock.is_plain() && send.place.number == 0 && send.not_woken.number == 0;
}

/// 1 is the answer for all locks.
core::Answer read_batch(const Reply& reply) {
  const bool is_answer = reply.type == Reply::Type::array ||
                         (reply.type == Reply::Type::integer && reply.integer == 1);
  return {is_answer ? Vote::granted : Vote::failed};
}

bool read_each(const Reply& reply, std::span<core::Answer> answers) {
  if (reply.type == Reply::Type::integer) return true;  // all have this vote already
  if (reply.elements.size() != answers.size()) return false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const core::Time asked = answers[i].asked;
    answers[i] = read(reply.elements[i]);
    answers[i].asked = asked;
  }
  return true;
}

}  // namespace

constinit const BatchForm batch{
    .kind = core::CommandKind::releases,
    .most = 32,
    .common = {&release_script, {}, {}},
    .of_each = {nullptr, {}, {locks, token}},
    .takes = takes,
    .read = read_batch,
    .read_each = read_each,
};

core::Answer read(const Reply& reply) {
  core::Answer answer{Vote::failed};
  if (reply.type == Reply::Type::integer) {
    if (reply.integer == 0) answer.vote = Vote::absent;
    if (reply.integer == 1) answer.vote = Vote::granted;
  } else if (reply.type == Reply::Type::error) {
    // A value of another type under the key is not ours, so there is nothing to delete.
    const Vote vote = vote_of_error(reply.text);
    answer.vote = vote == Vote::held ? Vote::absent : vote;
  } else if (is_numbers(reply, 3) && reply.elements[0].integer == 1) {
    answer.vote = Vote::granted;
    answer.waited_for = true;
    answer.first_in_line = reply.elements[1].integer == 1;
    answer.greatest_ticket = positive(reply.elements[2].integer);
  }
  return answer;
}

}  // namespace quorumlock::redis::release
