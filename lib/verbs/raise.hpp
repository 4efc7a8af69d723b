#pragma once

#include "verbs/call.hpp"
#include "verbs/vote.hpp"

/// The verb "raise": raises the fencing counters of locks that we hold to one number.
namespace quorumlock::redis::raise {

inline constexpr Call general{
    &raise_script, {Word::held, Word::counters}, {Word::token, Word::fence}};

inline core::Answer read(const Reply& reply) {
  core::Answer answer;
  if (read_vote(reply.elements, answer) == VoteCode::absent) answer.vote = Vote::absent;
  return answer;
}

}  // namespace quorumlock::redis::raise
