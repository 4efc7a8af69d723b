#include "loop/once_query.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lock/mutants.hpp"
#include "verbs/once.hpp"

namespace quorumlock::detail {

using core::Mutant;
using core::planted;
using core::Verdict;

void OnceQuery::begin(core::Time now, Session& session, core::SlotId asker, Goal goal) {
  asker_ = asker;
  goal_ = std::move(goal);
  again(now, session);
}

void OnceQuery::again(core::Time now, Session& session) {
  if (++number_ == core::uncounted) ++number_;
  refusing_ = core::NodeSet();
  least_ = std::numeric_limits<std::uint64_t>::max();
  greatest_ = 0;
  bytes_.clear();
  redis::once::append(bytes_, {.key = goal_.key,
                               .owner = goal_.owner,
                               .fence = goal_.fence,
                               .keep = goal_.keep.value_or(session.electorate().terms().memory()),
                               .period = goal_.done ? std::optional(goal_.period) : std::nullopt});
  session.engine().open(tally_);
  for (const int node : tally_.nodes()) tally_.ask(node);
  for (const int node : tally_.nodes()) {
    session.ask(now, node, {asker_, number_, core::CommandKind::once}, bytes_);
  }
}

void OnceQuery::take(core::Time now, Session& session, const Session::Answered& answer) {
  if (answer.tag.round != number_ || !tally_.nodes().contains(answer.node)) return;
  if (verdict() == Verdict::won) return;
  session.engine().count(now, tally_, answer.node, answer.vote);
  if (answer.vote == Vote::unauthorized || answer.vote == Vote::failed) refusing_.add(answer.node);
  if (answer.vote == Vote::granted && answer.reply != nullptr) {
    const std::uint64_t undone = redis::once::read(*answer.reply).fence;
    least_ = std::min(least_, undone);
    greatest_ = std::max(greatest_, undone);
  }
  if (verdict() != Verdict::won || goal_.done) return;
  if (greatest_ <= goal_.period || least_ == greatest_ || planted(Mutant::once_not_noted_again)) {
    return;
  }
  goal_.done = true;
  goal_.period = greatest_ - 1;
  again(now, session);
}

Verdict OnceQuery::verdict() const {
  if (planted(Mutant::once_by_one_node) && !tally_.granted_by().empty()) return Verdict::won;
  return tally_.granted();
}

}  // namespace quorumlock::detail
