#include "verbs/renew.hpp"

#include "lock/mutants.hpp"
#include "verbs/vote.hpp"

namespace quorumlock::redis::renew {
namespace {

using enum Word;

/// Reads the verdicts that a renewal can get and an acquisition cannot.
void read_verdict(VoteCode verdict, core::Answer& answer) {
  switch (verdict) {
    case VoteCode::replanted:
      answer.vote =
          core::planted(core::Mutant::replant_without_enrolment) ? Vote::granted : Vote::absent;
      answer.replanted = true;
      break;
    case VoteCode::absent: answer.vote = Vote::absent; break;
    case VoteCode::late: answer.vote = Vote::timed_out; break;
    case VoteCode::no_room: answer.vote = Vote::refuses_writes; break;
    default: break;
  }
}

/// Reads {time, digits}, with a digit for each lock; none if the node is not enrolled.
core::Answer read_batch(const Reply& reply) {
  const std::span<const Reply> words = reply.elements;
  if (reply.type != Reply::Type::array || words.size() != 2 ||
      words[0].type != Reply::Type::integer || words[0].integer < 0 ||
      words[1].type != Reply::Type::string) {
    return {Vote::failed};
  }
  core::Answer answer{words[1].text.empty() ? Vote::not_enrolled : Vote::granted};
  answer.node_time = words[0].integer;
  return answer;
}

bool read_each(const Reply& reply, std::span<core::Answer> answers) {
  const std::string_view digits = reply.elements[1].text;
  if (digits.size() != answers.size()) return false;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const VoteCode verdict{digits[i] - '0'};
    answers[i].vote = vote_of(verdict);
    read_verdict(verdict, answers[i]);
  }
  return true;
}

}  // namespace

constinit const BatchForm batch{
    .kind = core::CommandKind::renewals,
    .most = 100,
    .common = {&renew_script, {}, {ttl, replant}},
    .of_each = {nullptr, {locks}, {token, fence, left}},
    .takes = [](const core::Send& send) { return send.lock.is_plain(); },
    .read = read_batch,
    .read_each = read_each,
};

core::Answer read(const Reply& reply) {
  core::Answer answer;
  read_verdict(read_vote(reply.elements, answer), answer);
  return answer;
}

}  // namespace quorumlock::redis::renew
