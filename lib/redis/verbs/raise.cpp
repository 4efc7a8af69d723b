#include "redis/verbs/raise.hpp"

#include "redis/verbs/vote.hpp"

namespace quorumlock::redis::raise {
namespace {

using core::LockKind;
using enum Word;

constexpr Call one{&raise_script, {locks, counters, enrolment}, {token, fence, life}};
constexpr Call all{&raise_all_script, {locks, counters, enrolment}, {token, fence, life}};
constexpr Call permit{&raise_script, {slot_key, counters, enrolment}, {token, fence, life}};

const Call& call_of(LockKind kind) {
  switch (kind) {
    case LockKind::all: return all;
    case LockKind::permit: return permit;
    case LockKind::one:
    case LockKind::shared:
    case LockKind::by_token: break;
  }
  return one;
}

}  // namespace

void append(std::string& out, const core::Send& send, const Surroundings& around) {
  append_call(out, call_of(send.lock.kind()), send, around);
}

core::Answer read(const Reply& reply) {
  core::Answer answer;
  if (read_vote(reply.elements, answer) == Verdict::absent) answer.vote = Vote::absent;
  return answer;
}

}  // namespace quorumlock::redis::raise
