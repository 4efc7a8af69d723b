#include "loop/notes.hpp"

#include <algorithm>

#include "core/quorum.hpp"
#include "loop/session.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/words.hpp"

namespace quorumlock::detail {

using core::Time;
using NodeErrand = redis::Enrolment::Errand;

void Notes::begin(Time now, int node, NodeErrand what) {
  Errand& errand = errands_[static_cast<std::size_t>(node)];
  errand.what = what;
  ++errand.run;
  errand.to_come = session_.engine().nodes() - core::NodeSet::only(node);
  errand.good = 0;
  const redis::Enrolment& of = session_.link(node).enrolment();
  const std::string key = std::string(redis::node_prefix) + of.config().node;
  if (what == NodeErrand::look_up || what == NodeErrand::erase) {
    ask_others(now, node, {"GET", key});
  } else {
    const std::string run = of.run() + (what == NodeErrand::suspect ? ":copy" : "");
    const auto life = of.config().fencing_memory / std::chrono::milliseconds(1);
    ask_others(now, node, {"SET", key, run, "PX", std::to_string(life)});
  }
  judge(now, node, false);
}

void Notes::ask_others(Time now, int node, const std::vector<std::string>& words) {
  std::string bytes;
  redis::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.claim.generation = errands_[static_cast<std::size_t>(node)].run;
  tag.round = first_round;
  tag.kind = core::CommandKind::repair;
  for (const int other : session_.nodes()) {
    if (other != node) session_.ask(now, other, tag, bytes);
  }
}

void Notes::on_answer(Time now, int from, const core::Tag& tag, const redis::Reply* reply) {
  const int node = static_cast<int>(tag.claim.index);
  Errand& errand = errands_[static_cast<std::size_t>(node)];
  if (errand.what == NodeErrand::none || tag.claim.generation != errand.run) return;
  errand.to_come.remove(from);  // an answer that comes after its timeout counts once, too
  using Type = redis::Reply::Type;
  const bool noted = reply != nullptr && reply->type == Type::string;
  const bool none = reply != nullptr && reply->type == Type::nil;
  if (errand.what == NodeErrand::look_up) {
    if (none && session_.link(from).enrolment().remembers()) ++errand.good;
  } else if (reply != nullptr && reply->type == Type::status) {
    ++errand.good;
  }
  if (errand.what == NodeErrand::erase && noted) erase(now, node, from, reply->text);
  judge(now, node, errand.what == NodeErrand::look_up && noted);
}

/// Erases a note about an earlier run, or that this run's data is a copy. The script deletes only
/// that very note, since this call may be late, and a newer note may have replaced it.
void Notes::erase(Time now, int node, int from, std::string_view noted) {
  const redis::Enrolment& of = session_.link(node).enrolment();
  const bool present = redis::is_this_run(noted, of.run()) || redis::is_this_run(of.run(), noted);
  if (present) return;
  const std::string key = std::string(redis::node_prefix) + of.config().node;
  std::string bytes;
  redis::append_command(bytes, {"EVAL", redis::release_script.source, "0", key, noted});
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.round = first_round;  // without a run: the answer is ignored
  tag.kind = core::CommandKind::repair;
  session_.ask(now, from, tag, bytes);
}

void Notes::judge(Time now, int node, bool refuted) {
  Errand& errand = errands_[static_cast<std::size_t>(node)];
  const int all = session_.size();
  const int quorum = core::quorum_of(all);
  const bool looks = errand.what == NodeErrand::look_up;
  const int needed = looks ? std::min(all - quorum + 1, all - 1) : quorum - 1;
  const bool done = errand.good >= needed;
  if (!done && !refuted && !errand.to_come.empty()) return;
  const bool awaited = looks || errand.what == NodeErrand::note;
  errand.what = NodeErrand::none;
  if (!awaited) return;
  using End = redis::Enrolment::ErrandEnd;
  session_.link(node).done(now, refuted ? End::refuted : done ? End::good : End::too_few);
  session_.touched(node);
}

}  // namespace quorumlock::detail
