#include "members/repair.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lock/counter_bound.hpp"
#include "lock/mutants.hpp"
#include "loop/session.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "verbs/vote.hpp"
#include "wire/numbers.hpp"
#include "wire/words.hpp"

namespace quorumlock::detail {
namespace {

using core::Mutant;
using core::planted;
using core::Time;
using redis::Reply;

/// The number of keys that a node scans in one call, and of values that are read or written in one:
/// either takes a server about a millisecond (bench/counters).
constexpr std::string_view keys_a_call = "500";
constexpr std::size_t values_a_call = 250;
/// The next SCAN is not sent while this many commands are unanswered.
constexpr int enough_unanswered = 8;
constexpr core::Duration between_refreshes = std::chrono::seconds(2);

}  // namespace

void Repair::begin(Time now, int node) {
  if (node == job_.target) {
    // The node has a new mark of ours. Since the last one it may have been let in by another
    // client, have voted, and have forgotten that: what was read before is not enough.
    if (planted(Mutant::old_repair_goes_on)) return;
    job_.target = -1;
  } else if (std::ranges::find(waiting_, node) != waiting_.end()) {
    return;
  }
  waiting_.push_back(node);
  if (job_.target < 0) start(now);
}

void Repair::forget(Time now, int node) {
  std::erase(waiting_, node);
  if (node != job_.target) return;
  job_.target = -1;
  start(now);
}

void Repair::start(Time now) {
  ++run_;
  if (waiting_.empty()) return;
  job_ = {};
  job_.target = waiting_.front();
  job_.mark = mark_of(job_.target);
  waiting_.erase(waiting_.begin());
  const redis::SharedMembership& admitted =
      session_.link(job_.target).enrolment().ruling().admitted;
  if (!admitted) return finish(now, false);
  job_.as = *admitted;
  if (planted(Mutant::no_repair)) return finish(now, true);
  // Those that vouch for the node may be overdue for us. It waits for them then: the clocks are a
  // floor for tokens, but tell nothing of what is done once.
  if (!choose_sources()) return finish(now, false);
  // The node may have waited for its turn: check that we are still its repairer.
  write(now, Step::mark, {}, {}, life());
}

const std::string& Repair::mark_of(int node) const {
  return session_.link(node).enrolment().candidacy().mark();
}

/// The name of a source, which may have no record.
std::string Repair::name_of(const Source& source) const {
  const redis::Enrolment& its = session_.link(source.node).enrolment();
  return its.membership() ? its.membership()->name : its.config().node;
}

/// The greatest number that counts whichever node says it, by the clocks that are known so far.
std::uint64_t Repair::counts_up_to() const {
  if (planted(Mutant::bad_sources_believed)) return std::numeric_limits<std::uint64_t>::max();
  const core::Engine& engine = session_.engine();
  return core::counts_up_to(wall_.now_us(), job_.times, engine.least_that_knows(),
                            engine.config().fencing_memory);
}

/// Whether a node with this membership stands at the state at which the node is let in.
bool Repair::vouches(const redis::Membership& its) const {
  return its == job_.as.for_node(its.name);
}

/// False if enough nodes vouch for the node, and too few of them can be asked now.
bool Repair::choose_sources() {
  std::vector<int> quarantined;
  const std::uint64_t limit = counts_up_to();
  for (const int node : session_.nodes()) {
    const core::LinkState state = session_.link(node).state();
    if (node == job_.target) continue;
    const redis::Enrolment& enrolment = session_.link(node).enrolment();
    const bool waits = enrolment.standing() == redis::Enrolment::Standing::quarantined;
    if (waits && state == core::LinkState::quarantined) quarantined.push_back(node);
    if (state != core::LinkState::up) continue;
    job_.clocks.push_back(node);
    job_.sources.push_back({node, enrolment.record()});
    const std::uint64_t floor = enrolment.floor();
    if (floor > limit) job_.doubts[""][name_of(job_.sources.back())] = floor;
    if (floor <= job_.floor || floor > limit) continue;
    job_.floor = floor;
    job_.since = enrolment.since();
  }
  job_.clocks.insert(job_.clocks.end(), quarantined.begin(), quarantined.end());
  job_.clocks.push_back(job_.target);
  // Those of them that vouch for the node, as many as it takes.
  std::vector<Source> vouchers;
  redis::NodeNames names;
  for (const Source& source : job_.sources) {
    const redis::SharedMembership& its = session_.link(source.node).enrolment().membership();
    if (!vouches(*its)) continue;
    if (job_.as.is_vouched_for_by(names)) {
      job_.spare.push_back(source);
      continue;
    }
    vouchers.push_back(source);
    names.push_back(its->name);
  }
  job_.from_quorum = job_.as.is_vouched_for_by(names);
  job_.by_clock = !job_.from_quorum;
  if (job_.from_quorum) {
    job_.sources = std::move(vouchers);
  } else {
    job_.spare.clear();  // all are read
    for (const int node : quarantined) job_.sources.push_back({node, {}});
  }
  return job_.from_quorum || !session_.link(job_.target).enrolment().ruling().vouched_for ||
         planted(Mutant::repaired_without_vouchers);
}

void Repair::next_source(Time now) {
  job_.doubted = 0;
  const bool wants_more = !job_.doubts.empty() || !job_.of_no_use.empty();
  if (job_.sources.empty() && wants_more) job_.sources.swap(job_.spare);
  if (job_.sources.empty()) return ask_times(now);
  job_.cursor.assign(1, '0');  // g++ 12 warns of an assignment of "0" (GCC bug 105651)
  job_.scan_next = true;
  proceed(now);
}

/// Judges the numbers that were doubted, once all that vouch and all clocks are read. A source with
/// one that does not count does not count itself.
void Repair::settle(Time now) {
  const std::uint64_t limit = counts_up_to();
  for (const std::int64_t time : job_.times) {
    if (!job_.by_clock || planted(Mutant::floor_below_the_clocks)) break;
    const std::uint64_t floor = static_cast<std::uint64_t>(time) + redis::counter_ahead_us;
    if (floor <= limit) job_.greatest = std::max(job_.greatest, floor);
  }
  std::vector<std::string_view> keys;
  std::vector<std::string> numbers;
  const auto refuse = [this](const std::string& name) {
    std::erase(job_.read_from, name);
    job_.why =
        "cannot be repaired: " + name +
        " has a fencing counter that no clock explains, and too few others vouch: quorumlock "
        "doctor says what to do";
  };
  for (const std::string& name : job_.of_no_use) refuse(name);
  const auto doubts = std::exchange(job_.doubts, {});
  for (const auto& [key, said] : doubts) {
    std::vector<std::uint64_t> of_all;
    for (const auto& [name, number] : said) of_all.push_back(number);
    const std::uint64_t most =
        std::max(limit, core::shared_by(session_.engine().least_that_knows(), of_all));
    std::uint64_t greatest = 0;
    for (const auto& [name, number] : said) {
      if (number <= most) {
        greatest = std::max(greatest, number);
        continue;
      }
      refuse(name);
    }
    if (greatest == 0) continue;
    job_.greatest = std::max(job_.greatest, greatest);
    if (key.empty()) {
      job_.floor = std::max(job_.floor, greatest);
    } else {
      keys.push_back(key);
      numbers.push_back(std::to_string(greatest));
    }
  }
  if (job_.from_quorum && !job_.as.is_vouched_for_by(job_.read_from)) return finish(now, false);
  const std::vector<std::string_view> values(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < keys.size(); i += values_a_call) {
    const std::size_t some = std::min(values_a_call, keys.size() - i);
    write(now, Step::write, std::span(keys).subspan(i, some), std::span(values).subspan(i, some),
          life());
  }
  if (keys.empty()) finish(now, true);
}

/// Sends the next command after each answer, unless enough are under way.
void Repair::proceed(Time now) {
  if (job_.scan_next && now >= refresh_at_) write(now, Step::mark, {}, {}, life());
  if (job_.scan_next && job_.unanswered < enough_unanswered) {
    job_.scan_next = false;
    const std::string_view words[] = {"SCAN",  job_.cursor, "MATCH", redis::counters_pattern,
                                      "COUNT", keys_a_call};
    return ask(now, job_.sources.back().node, Step::scan, words);
  }
  if (!job_.scan_next && job_.unanswered == 0) end_of_source(now);
}

void Repair::on_answer(Time now, const core::Tag& tag, const Reply* reply) {
  if (job_.target < 0 || tag.claim.generation != run_) return;
  if (reply == nullptr) return finish(now, false);
  --job_.unanswered;
  if (reply->type == Reply::Type::error) {
    job_.refused = redis::vote_of_error(reply->text) == Vote::unauthorized;
    return finish(now, false);
  }
  const auto step = static_cast<Step>(tag.round);
  switch (step) {
    case Step::mark:
    case Step::write:
      if (reply->type != Reply::Type::integer || reply->integer < 0) return finish(now, false);
      if (step == Step::mark && job_.cursor.empty()) return next_source(now);
      return proceed(now);
    case Step::scan: return on_keys(now, *reply);
    case Step::values: return on_values(now, *reply);
    case Step::periods: return on_periods(now, *reply);
    case Step::check:
      if (reply->text != job_.sources.back().record &&
          !planted(Mutant::sources_record_not_compared)) {
        session_.doubt(now, job_.sources.back().node);
        return finish(now, false);
      }
      job_.read_from.push_back(name_of(job_.sources.back()));
      job_.sources.pop_back();
      return next_source(now);
    case Step::time: {
      const std::optional<std::int64_t> time = redis::time_of(*reply);
      if (!time) return finish(now, false);
      job_.times.push_back(*time);
      job_.clocks.pop_back();
      return ask_times(now);
    }
  }
}

void Repair::end_of_source(Time now) {
  if (job_.sources.empty()) return finish(now, true);
  if (job_.from_quorum) {
    const std::string_view words[] = {"GET", redis::enrolment_key};
    return ask(now, job_.sources.back().node, Step::check, words);
  }
  job_.sources.pop_back();
  next_source(now);
}

void Repair::ask_times(Time now) {
  const bool wanted = job_.by_clock || !job_.doubts.empty();
  if (!wanted || job_.clocks.empty()) return settle(now);
  const std::string_view words[] = {"TIME"};
  ask(now, job_.clocks.back(), Step::time, words);
}

void Repair::on_keys(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return finish(now, false);
  job_.cursor = reply.elements[0].text;
  job_.scan_next = job_.cursor != "0";
  std::vector<std::string_view> counters, periods;
  for (const Reply& key : reply.elements[1].elements) {
    if (key.text.starts_with(redis::counter_prefix)) counters.push_back(key.text);
    if (key.text.starts_with(redis::once_prefix) && !planted(Mutant::once_not_repaired)) {
      periods.push_back(key.text);
    }
  }
  ask_values(now, Step::values, counters);
  ask_values(now, Step::periods, periods);
  proceed(now);
}

/// Reads these counters of the source, some at a time.
void Repair::ask_values(Time now, Step step, std::span<const std::string_view> found) {
  for (std::size_t i = 0; i < found.size(); i += values_a_call) {
    const auto some = found.subspan(i, std::min(values_a_call, found.size() - i));
    job_.keys.emplace_back(some.begin(), some.end());
    const std::string count = std::to_string(some.size());
    std::vector<std::string_view> words{"MGET"};
    if (step == Step::periods) words = {"EVAL", redis::periods_script.source, count};
    words.insert(words.end(), some.begin(), some.end());
    ask(now, job_.sources.back().node, step, words);
  }
}

void Repair::on_values(Time now, const Reply& reply) {
  const std::vector<std::string> asked = std::move(job_.keys.front());
  job_.keys.pop_front();
  if (reply.type != Reply::Type::array || reply.elements.size() != asked.size()) {
    return finish(now, false);
  }
  job_.read += asked.size();
  std::vector<std::string_view> keys, values;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Reply& value = reply.elements[i];
    if (value.type != Reply::Type::string) continue;  // the counter has expired meanwhile
    const std::optional<std::uint64_t> number = redis::counter_in(value.text);
    if (!number) {
      job_.by_clock = true;
      continue;
    }
    if (*number > counts_up_to()) {
      doubt(asked[i], *number);
      continue;
    }
    keys.push_back(asked[i]);
    values.push_back(value.text);
    job_.greatest = std::max(job_.greatest, *number);
  }
  if (!keys.empty()) write(now, Step::write, keys, values, life());
  proceed(now);
}

/// Keeps a counter of the present source that our clock does not explain. SCAN may return a key
/// twice.
void Repair::doubt(const std::string& key, std::uint64_t number) {
  const std::string name = name_of(job_.sources.back());
  if (std::ranges::find(job_.of_no_use, name) != job_.of_no_use.end()) return;
  if (++job_.doubted > most_doubts) {
    job_.of_no_use.push_back(name);
    for (auto& [its_key, numbers] : job_.doubts) numbers.erase(name);
    std::erase_if(job_.doubts, [](const auto& one) { return one.second.empty(); });
    return;
  }
  std::uint64_t& said = job_.doubts[key][name];
  said = std::max(said, number);
}

/// The periods that are done (Coordinator::once) are kept for as long as each caller asked, so they
/// are copied with the longest time that is left of them. A floor says nothing about them: if fewer
/// nodes remember than are needed, what was done is forgotten. What is not a number of ours is
/// another program's, and tells nothing.
void Repair::on_periods(Time now, const Reply& reply) {
  const std::vector<std::string> asked = std::move(job_.keys.front());
  job_.keys.pop_front();
  if (reply.type != Reply::Type::array || reply.elements.size() != 2 * asked.size()) {
    return finish(now, false);
  }
  job_.read += asked.size();
  std::vector<std::string_view> keys, values;
  std::int64_t life = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Reply& value = reply.elements[2 * i];
    const Reply& left = reply.elements[2 * i + 1];
    if (value.type != Reply::Type::string || left.type != Reply::Type::integer) continue;
    if (!redis::counter_in(value.text) || left.integer <= 0) continue;
    keys.push_back(asked[i]);
    values.push_back(value.text);
    life = std::max(life, left.integer);
  }
  if (!keys.empty()) write(now, Step::write, keys, values, std::to_string(life));
  proceed(now);
}

/// How long the counters live that are copied, in ms.
std::string Repair::life() const {
  return std::to_string(job_.as.longest_memory() / std::chrono::milliseconds(1));
}

/// Runs repair.lua on the target; each call also refreshes the repairer's mark.
void Repair::write(Time now, Step step, std::span<const std::string_view> keys,
                   std::span<const std::string_view> values, std::string_view life) {
  refresh_at_ = now + between_refreshes;
  const std::string count = std::to_string(keys.size() + 1);
  std::string_view mark = job_.mark;
  if (planted(Mutant::old_repair_goes_on)) mark = mark_of(job_.target);
  std::vector<std::string_view> words{"EVAL", redis::repair_script.source, count,
                                      redis::repairer_key};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), {mark, redis::repairer_ms, life});
  words.insert(words.end(), values.begin(), values.end());
  ask(now, job_.target, step, words);
}

void Repair::ask(Time now, int node, Step step, std::span<const std::string_view> words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.claim.generation = run_;
  tag.round = static_cast<std::uint16_t>(step);
  tag.kind = core::CommandKind::repair;
  ++job_.unanswered;
  session_.ask(now, node, tag, bytes_);
}

void Repair::finish(Time now, bool done) {
  const int node = std::exchange(job_.target, -1);
  // What was read for an earlier mark says nothing of the present candidacy: see begin().
  if (job_.mark != mark_of(node) && !planted(Mutant::old_repair_goes_on)) return start(now);
  const redis::SharedMembership& admitted = session_.link(node).enrolment().ruling().admitted;
  if (done && admitted && *admitted == job_.as) {
    session_.link(node).repaired(now, job_.as,
                                 job_.by_clock ? std::max(job_.floor, job_.greatest) : job_.floor,
                                 job_.by_clock ? wall_.now_us() : job_.since);
  } else {
    session_.link(node).repair_failed(now, job_.refused, job_.why);
  }
  session_.touched(node);
  start(now);
}

}  // namespace quorumlock::detail
