#include "loop/repair.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/mutants.hpp"
#include "loop/session.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "redis/verbs/vote.hpp"
#include "redis/words.hpp"

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
/// How far a counter may be ahead of a node's clock: see acquire.lua.
constexpr std::uint64_t ahead_us = 60'000'000;
/// All fences are below this: see acquire.lua.
constexpr std::uint64_t fences_end = std::uint64_t{1} << 53U;

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= fences_end) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

void Repair::begin(Time now, int node) {
  if (node == target_ || std::ranges::find(waiting_, node) != waiting_.end()) return;
  waiting_.push_back(node);
  if (target_ < 0) start(now);
}

void Repair::forget(Time now, int node) {
  std::erase(waiting_, node);
  if (node != target_) return;
  target_ = -1;
  start(now);
}

void Repair::start(Time now) {
  ++run_;
  if (waiting_.empty()) return;
  target_ = waiting_.front();
  waiting_.erase(waiting_.begin());
  greatest_ = floor_ = read_ = 0;
  since_ = 0;
  unanswered_ = 0;
  scan_next_ = refused_ = false;
  cursor_.clear();
  reading_.clear();
  const std::optional<redis::Membership>& admitted =
      session_.link(target_).enrolment().others().admitted;
  if (!admitted) return finish(now, false);
  as_ = *admitted;
  choose_sources();
  // The node may have waited for its turn: check that we are still its repairer.
  write(now, Step::mark, {}, {});
}

void Repair::choose_sources() {
  sources_.clear();
  clocks_.clear();
  std::vector<int> quarantined;
  for (const int node : session_.nodes()) {
    const core::LinkState state = session_.link(node).state();
    if (node == target_) continue;
    const redis::Enrolment::Standing its = session_.link(node).enrolment().standing();
    if (its == redis::Enrolment::Standing::waiting && state == core::LinkState::quarantined)
      quarantined.push_back(node);
    if (state != core::LinkState::up) continue;
    sources_.push_back(node);
    const redis::Enrolment& enrolment = session_.link(node).enrolment();
    if (enrolment.enrolled().floor <= floor_) continue;
    floor_ = enrolment.enrolled().floor;
    since_ = enrolment.enrolled().since;
  }
  clocks_ = sources_;
  clocks_.insert(clocks_.end(), quarantined.begin(), quarantined.end());
  clocks_.push_back(target_);
  int needed = as_.vouchers_needed();
  if (planted(Mutant::vouchers_by_own_list)) needed = session_.size() - session_.size() / 2;
  from_quorum_ = static_cast<int>(sources_.size()) >= needed;
  by_clock_ = !from_quorum_;
  if (from_quorum_) {
    sources_.resize(static_cast<std::size_t>(needed));
  } else {
    sources_.insert(sources_.end(), quarantined.begin(), quarantined.end());
  }
}

void Repair::next_source(Time now) {
  if (sources_.empty()) return ask_times(now);
  cursor_.assign(1, '0');  // g++ 12 warns of an assignment of "0" (GCC bug 105651)
  scan_next_ = !refused_;
  proceed(now);
}

/// Sends the next command after each answer, unless enough are under way.
void Repair::proceed(Time now) {
  if (scan_next_ && now >= refresh_at_) write(now, Step::mark, {}, {});
  if (scan_next_ && unanswered_ < enough_unanswered) {
    scan_next_ = false;
    const std::string_view words[] = {"SCAN",  cursor_,    "MATCH", "quorumlock:fence:*",
                                      "COUNT", keys_a_call};
    return ask(now, sources_.back(), Step::scan, words);
  }
  if (!scan_next_ && unanswered_ == 0) end_of_source(now);
}

void Repair::on_answer(Time now, const core::Tag& tag, const Reply* reply) {
  if (target_ < 0 || tag.claim.generation != run_) return;
  if (reply == nullptr) return finish(now, false);
  --unanswered_;
  const auto step = static_cast<Step>(tag.round);
  if (reply->type == Reply::Type::error) {
    const bool forbidden = redis::vote_of_error(reply->text) == Vote::unauthorized;
    return forbidden ? on_refusal(now, step) : finish(now, false);
  }
  switch (step) {
    case Step::mark:
    case Step::write:
      if (reply->type != Reply::Type::integer || reply->integer < 0) return finish(now, false);
      if (step == Step::mark && cursor_.empty()) return next_source(now);
      return proceed(now);
    case Step::scan: return on_keys(now, *reply);
    case Step::values: return on_values(now, *reply);
    case Step::check:
      if (reply->text != session_.link(sources_.back()).enrolment().enrolled().record) {
        session_.doubt(now, sources_.back());
        return finish(now, false);
      }
      sources_.pop_back();
      return next_source(now);
    case Step::time: {
      const std::optional<std::int64_t> time = redis::time_of(*reply);
      if (!time) return finish(now, false);
      if (!planted(Mutant::floor_below_the_clocks)) {
        greatest_ = std::max(greatest_, static_cast<std::uint64_t>(*time) + ahead_us);
      }
      clocks_.pop_back();
      return ask_times(now);
    }
  }
}

/// This user may not run a command, usually since it concerns counters of other users' locks.
void Repair::on_refusal(Time now, Step step) {
  if (step != Step::scan && step != Step::values && step != Step::write) return finish(now, false);
  refused_ = by_clock_ = true;
  scan_next_ = false;
  if (step == Step::values) reading_.pop_front();
  proceed(now);
}

void Repair::end_of_source(Time now) {
  if (from_quorum_) {
    const std::string_view words[] = {"GET", redis::enrolment_key};
    return ask(now, sources_.back(), Step::check, words);
  }
  sources_.pop_back();
  next_source(now);
}

void Repair::ask_times(Time now) {
  if (!by_clock_ || clocks_.empty()) return finish(now, true);
  const std::string_view words[] = {"TIME"};
  ask(now, clocks_.back(), Step::time, words);
}

void Repair::on_keys(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return finish(now, false);
  cursor_ = reply.elements[0].text;
  scan_next_ = cursor_ != "0" && !refused_;
  const std::span<const Reply> found = reply.elements[1].elements;
  for (std::size_t i = 0; i < found.size(); i += values_a_call) {
    std::vector<std::string>& keys = reading_.emplace_back();
    std::vector<std::string_view> words{"MGET"};
    for (const Reply& key : found.subspan(i, std::min(values_a_call, found.size() - i))) {
      keys.emplace_back(key.text);
      words.push_back(key.text);
    }
    ask(now, sources_.back(), Step::values, words);
  }
  proceed(now);
}

void Repair::on_values(Time now, const Reply& reply) {
  const std::vector<std::string> asked = std::move(reading_.front());
  reading_.pop_front();
  if (reply.type != Reply::Type::array || reply.elements.size() != asked.size()) {
    return finish(now, false);
  }
  read_ += asked.size();
  std::vector<std::string_view> keys, values;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Reply& value = reply.elements[i];
    if (value.type != Reply::Type::string) continue;  // the counter has expired meanwhile
    const std::optional<std::uint64_t> number = number_of(value.text);
    if (!number) {
      by_clock_ = true;
      continue;
    }
    keys.push_back(asked[i]);
    values.push_back(value.text);
    greatest_ = std::max(greatest_, *number);
  }
  if (!keys.empty()) write(now, Step::write, keys, values);
  proceed(now);
}

/// Runs repair.lua on the target; each call also refreshes the repairer's mark.
void Repair::write(Time now, Step step, std::span<const std::string_view> keys,
                   std::span<const std::string_view> values) {
  refresh_at_ = now + between_refreshes;
  const std::string count = std::to_string(keys.size() + 1);
  const std::string& mark = session_.link(target_).enrolment().mark();
  std::vector<std::string_view> words{"EVAL", redis::repair_script.source, count,
                                      redis::repairer_key};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), {mark, redis::repairer_ms, session_.counter_life()});
  words.insert(words.end(), values.begin(), values.end());
  ask(now, target_, step, words);
}

void Repair::ask(Time now, int node, Step step, std::span<const std::string_view> words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.claim.generation = run_;
  tag.round = static_cast<std::uint16_t>(step);
  tag.kind = core::CommandKind::repair;
  ++unanswered_;
  session_.ask(now, node, tag, bytes_);
}

void Repair::finish(Time now, bool done) {
  const int node = std::exchange(target_, -1);
  if (done && session_.link(node).enrolment().others().admitted == as_) {
    const redis::Enrolment::Repaired repaired{
        .floor = by_clock_ ? std::max(floor_, greatest_) : floor_,
        .since = by_clock_ ? wall_.now_us() : since_,
        .as = as_};
    session_.link(node).done(now, repaired);
  } else {
    session_.link(node).done(now, redis::Enrolment::RepairFailed());
  }
  session_.touched(node);
  start(now);
}

}  // namespace quorumlock::detail
