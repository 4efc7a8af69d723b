#include "client/repair.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/session.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::client {
namespace {

using core::Time;
using redis::Reply;

/// How many keys a node is asked to look at in one call: a fraction of a millisecond.
constexpr std::string_view keys_a_call = "200";
/// How far ahead of a node's clock a counter may be: see acquire.lua.
constexpr std::uint64_t ahead_us = 60'000'000;

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void Repair::begin(Time now, int node) {
  if (node == target_ || std::ranges::find(waiting_, node) != waiting_.end()) return;
  waiting_.push_back(node);
  if (target_ < 0) start(now);
}

void Repair::start(Time now) {
  if (waiting_.empty()) return;
  target_ = waiting_.front();
  waiting_.erase(waiting_.begin());
  ++run_;
  greatest_ = floor_ = 0;
  since_ = 0;
  sources_.clear();
  clocks_.clear();
  std::vector<int> reachable;
  for (int node = 0; node < session_.nodes(); ++node) {
    const core::LinkState state = session_.link(node).state();
    if (node == target_) continue;
    if (state == core::LinkState::up) sources_.push_back(node);
    if (state == core::LinkState::quarantined) reachable.push_back(node);
  }
  const int needed = session_.nodes() - core::quorum_of(session_.nodes()) + 1;
  from_quorum_ = static_cast<int>(sources_.size()) >= needed;
  if (from_quorum_) {
    sources_.resize(static_cast<std::size_t>(needed));
  } else {
    sources_.insert(sources_.end(), reachable.begin(), reachable.end());
    clocks_ = sources_;
    clocks_.push_back(target_);
  }
  for (const int source : sources_) {
    const redis::Enrolment& enrolment = session_.link(source).enrolment();
    if (session_.link(source).state() != core::LinkState::up || enrolment.floor() <= floor_)
      continue;
    floor_ = enrolment.floor();
    since_ = enrolment.since();
  }
  next_source(now);
}

void Repair::next_source(Time now) {
  if (sources_.empty()) return ask_times(now);
  cursor_.assign(1, '0');
  ask(now, sources_.back(), Step::scan,
      {"SCAN", cursor_, "MATCH", "quorumlock:fence:*", "COUNT", keys_a_call});
}

void Repair::ask_times(Time now) {
  if (clocks_.empty()) return finish(now, true);
  ask(now, clocks_.back(), Step::time, {"TIME"});
}

void Repair::ask(Time now, int node, Step step, const std::vector<std::string_view>& words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  core::Tag tag;
  tag.claim.index = static_cast<std::uint32_t>(node);
  tag.claim.generation = run_;
  tag.round = static_cast<std::uint16_t>(step);
  tag.kind = core::CommandKind::repair;
  session_.ask(now, node, tag, bytes_);
}

void Repair::on_answer(Time now, const core::Tag& tag, const Reply* reply) {
  if (target_ < 0 || tag.claim.generation != run_) return;
  if (reply == nullptr || reply->type == Reply::Type::error) return finish(now, false);
  switch (static_cast<Step>(tag.round)) {
    case Step::scan: return on_keys(now, *reply);
    case Step::values: return on_values(now, *reply);
    case Step::write:
      if (cursor_ == "0") return end_of_source(now);
      return ask(now, sources_.back(), Step::scan,
                 {"SCAN", cursor_, "MATCH", "quorumlock:fence:*", "COUNT", keys_a_call});
    case Step::check:
      if (reply->text != session_.link(sources_.back()).enrolment().record()) {
        session_.doubt(now, sources_.back());
        return finish(now, false);
      }
      sources_.pop_back();
      return next_source(now);
    case Step::time: {
      const std::optional<std::int64_t> time = redis::time_of(*reply);
      if (!time) return finish(now, false);
      greatest_ = std::max(greatest_, static_cast<std::uint64_t>(*time) + ahead_us);
      clocks_.pop_back();
      return ask_times(now);
    }
  }
}

void Repair::end_of_source(Time now) {
  if (from_quorum_) return ask(now, sources_.back(), Step::check, {"GET", redis::enrolment_key});
  sources_.pop_back();
  next_source(now);
}

void Repair::on_keys(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return finish(now, false);
  cursor_ = reply.elements[0].text;
  keys_.clear();
  for (const Reply& key : reply.elements[1].elements) keys_.emplace_back(key.text);
  std::vector<std::string_view> words{"MGET"};
  words.insert(words.end(), keys_.begin(), keys_.end());
  // Without keys there is nothing to ask for; PING keeps the steps one after the other.
  if (keys_.empty()) return ask(now, target_, Step::write, {"PING"});
  ask(now, sources_.back(), Step::values, words);
}

void Repair::on_values(Time now, const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != keys_.size()) {
    return finish(now, false);
  }
  std::vector<std::string_view> keys, values;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Reply& value = reply.elements[i];
    if (value.type != Reply::Type::string) continue;  // gone meanwhile: its life was over
    keys.push_back(keys_[i]);
    values.push_back(value.text);
    greatest_ = std::max(greatest_, number_of(value.text));
  }
  const std::string count = std::to_string(keys.size());
  const std::string life = std::to_string(
      std::chrono::duration_cast<std::chrono::milliseconds>(redis::counter_life).count());
  std::vector<std::string_view> words{"EVAL", redis::repair_script.source, count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), values.begin(), values.end());
  words.push_back(life);
  ask(now, target_, Step::write, words);
}

void Repair::finish(Time now, bool done) {
  const int node = std::exchange(target_, -1);
  if (done) {
    session_.link(node).repaired(now, from_quorum_ ? floor_ : std::max(floor_, greatest_),
                                 from_quorum_ ? since_ : wall_.now_us());
  } else {
    session_.link(node).repair_failed(now);
  }
  session_.touched(node);
  start(now);
}

}  // namespace quorumlock::client
