#include "verbs/once.hpp"

#include <chrono>

#include "verbs/call.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis::once {

void append(std::string& out, const Asked& what) {
  Writer writer(out);
  writer.count(10 + own_words(core::CommandKind::once));
  writer.word("EVAL");
  writer.word(once_script.source);
  writer.word("3");
  writer.word(counter_prefix, what.key);
  writer.word(once_prefix, what.key);
  writer.word(what.key);
  writer.word(std::to_string(what.fence));
  writer.word(what.period ? std::to_string(*what.period) : std::string());
  writer.number(what.keep / std::chrono::milliseconds(1));
  writer.word(what.owner);
  writer.finish();
}

core::Answer read(const Reply& reply) {
  core::Answer answer;
  if (read_vote(reply.elements, answer) == VoteCode::absent) answer.vote = Vote::absent;
  return answer;
}

}  // namespace quorumlock::redis::once
