#include <charconv>
#include <type_traits>

#include <quorumlock/options.hpp>
#include "sim/world/draw.hpp"

// A draw as text, and back.
namespace quorumlock::sim {

using namespace std::chrono_literals;

std::string_view to_string(Fault fault) {
  switch (fault) {
    case Fault::crash: return "crash";
    case Fault::pause_node: return "pause_node";
    case Fault::pause_client: return "pause_client";
    case Fault::reset: return "reset";
    case Fault::partition: return "partition";
    case Fault::delay: return "delay";
    case Fault::flush: return "flush";
    case Fault::refuse: return "refuse";
    case Fault::forget_scripts: return "forget_scripts";
    case Fault::fail_over: return "fail_over";
    case Fault::client_crash: return "client_crash";
    case Fault::clock_step: return "clock_step";
    case Fault::clock_rate: return "clock_rate";
    case Fault::evict: return "evict";
    case Fault::drop_lock: return "drop_lock";
    case Fault::stand_still: return "stand_still";
    case Fault::stop_writing: return "stop_writing";
    case Fault::copy_directory: return "copy_directory";
    case Fault::promote_replica: return "promote_replica";
    case Fault::follow_another: return "follow_another";
    case Fault::fail_back: return "fail_back";
    case Fault::operators_away: return "operators_away";
    case Fault::forge: return "forge";
    case Fault::make_up: return "make_up";
  }
  return "?";
}

std::string_view to_string(Step step) {
  switch (step) {
    case Step::announced: return "announced";
    case Step::committed: return "committed";
    case Step::settled: return "settled";
  }
  return "?";
}

namespace {

/// Visits every option, in the order of the text.
template <class AnyDraw, class Visit>
void each_option(AnyDraw& draw, Visit&& visit) {
  visit("seed", draw.seed);
  visit("focus", draw.focus);
  visit("nodes", draw.nodes);
  visit("spares", draw.spares);
  visit("operators", draw.operators);
  visit("clients", draw.clients);
  visit("keys", draw.keys);
  visit("fencing", draw.fencing);
  visit("durable", draw.durable);
  visit("sane_wall_clocks", draw.sane_wall_clocks);
  visit("clocks_at_the_bound", draw.clocks_at_the_bound);
  visit("nodes_agree", draw.nodes_agree);
  visit("low_counters", draw.low_counters);
  visit("uneven_paths", draw.uneven_paths);
  visit("faults_follow_wins", draw.faults_follow_wins);
  visit("faults_follow_votes", draw.faults_follow_votes);
  visit("faults_follow_raises", draw.faults_follow_raises);
  visit("faults_follow_rivals", draw.faults_follow_rivals);
  visit("rivals_watch", draw.rivals_watch);
  visit("blind_spots", draw.blind_spots);
  visit("one_ahead", draw.one_ahead);
  visit("silences", draw.silences);
  visit("late_comer", draw.late_comer);
  visit("in_order", draw.in_order);
  visit("sets", draw.sets);
  visit("capacity", draw.capacity);
  visit("capacities_differ", draw.capacities_differ);
  visit("entry_life", draw.entry_life);
  visit("to_read", draw.to_read);
  visit("by_token", draw.by_token);
  visit("forgetful_paths", draw.forgetful_paths);
  visit("tenants", draw.tenants);
  visit("other_databases", draw.other_databases);
  visit("begins_announced", draw.begins_announced);
  visit("odd_counter", draw.odd_counter);
  visit("at_once", draw.at_once);
  visit("window", draw.window);
  visit("crowd", draw.crowd);
  visit("crowd_keys", draw.crowd_keys);
  visit("service", draw.service);
  visit("in_pieces", draw.in_pieces);
  visit("ttl", draw.ttl);
  visit("max_ttl", draw.max_ttl);
  visit("delay", draw.delay);
  visit("hold", draw.hold);
  visit("every", draw.every);
  visit("pause", draw.pause);
  visit("node_timeout", draw.node_timeout);
  visit("until", draw.until);
  visit("between_faults", draw.between_faults);
  visit("between_changes", draw.between_changes);
  visit("between_looks", draw.between_looks);
  visit("plan", draw.plan);
  visit("deaf", draw.deaf);
  visit("told", draw.told);
  visit("forgets_after", draw.forgets_after);
  visit("faults_follow_steps", draw.faults_follow_steps);
  visit("careful", draw.careful);
  visit("lists_differ", draw.lists_differ);
  visit("blind_for_good", draw.blind_for_good);
  visit("lists_follow_requests", draw.lists_follow_requests);
  visit("all_forget", draw.all_forget);
  visit("forgetters", draw.forgetters);
  visit("deaf_from", draw.deaf_from);
  visit("deaf_for_good", draw.deaf_for_good);
  visit("lists", draw.lists);
  visit("blind", draw.blind);
  visit("forgets_in", draw.forgets_in);
  visit("moves_at_commit", draw.moves_at_commit);
  visit("faults_follow_looks", draw.faults_follow_looks);
  visit("stale_source", draw.stale_source);
  visit("short_lives", draw.short_lives);
  visit("periods", draw.periods);
  visit("other_max_ttl", draw.other_max_ttl);
  visit("memory", draw.memory);
  visit("other_memory", draw.other_memory);
  visit("begins_other", draw.begins_other);
  visit("faults", draw.faults);
}

std::string said(bool value) {
  return value ? "yes" : "no";
}
std::string said(int value) {
  return std::to_string(value);
}
std::string said(std::uint64_t value) {
  return std::to_string(value);
}
std::string said(Fault value) {
  return std::string(to_string(value));
}
std::string said(core::Duration value) {
  return to_text(value);
}
std::string said(Focus value) {
  return std::string(to_string(value));
}
std::string said(Step value) {
  return std::string(to_string(value));
}
std::string said(const std::string& value) {
  return value;
}
template <class Each>
std::string said(const std::vector<Each>& value) {
  std::string text;
  for (const Each& each : value) text += (text.empty() ? "" : ",") + said(each);
  return text;
}

bool read(std::string_view text, bool& value) {
  value = text == "yes";
  return value || text == "no";
}
template <class Number>
requires std::is_integral_v<Number>
bool read(std::string_view text, Number& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value).ptr ==
         text.data() + text.size();
}
bool read(std::string_view text, core::Duration& value) {
  const auto parsed = parse_duration("", text);
  if (parsed) value = *parsed;
  return parsed.has_value();
}
template <class Named>
bool read_name(std::string_view text, Named& value, int count) {
  for (int i = 0; i < count; ++i) {
    value = static_cast<Named>(i);
    if (to_string(value) == text) return true;
  }
  return false;
}
bool read(std::string_view text, Focus& value) {
  return read_name(text, value, focuses);
}
bool read(std::string_view text, Step& value) {
  return read_name(text, value, step_kinds);
}
bool read(std::string_view text, Fault& value) {
  return read_name(text, value, fault_kinds);
}
bool read(std::string_view text, std::string& value) {
  value = text;
  return true;
}
template <class Each>
bool read(std::string_view text, std::vector<Each>& value) {
  value.clear();
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!read(text.substr(0, comma), value.emplace_back())) return false;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return true;
}

}  // namespace

std::optional<Draw> Draw::parse(std::string_view text) {
  Draw draw;
  bool good = true;
  each_option(draw, [&](std::string_view name, auto& value) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    good = good && word.starts_with(name) && word.substr(name.size()).starts_with('=') &&
           read(word.substr(name.size() + 1), value);
  });
  return good && text.empty() ? std::optional(draw) : std::nullopt;
}

void Draw::round() {
  each_option(*this, [](std::string_view, auto& value) {
    if constexpr (std::is_same_v<decltype(value), core::Duration&>) value = value / 1us * 1us;
  });
}

std::string Draw::to_string() const {
  std::string text;
  each_option(*this, [&text](std::string_view name, const auto& value) {
    text += (text.empty() ? "" : " ") + std::string(name) + '=' + said(value);
  });
  return text;
}

}  // namespace quorumlock::sim
