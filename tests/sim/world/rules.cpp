#include "sim/world/rules.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include "sim/world/referee.hpp"

namespace quorumlock::sim {

namespace {

std::optional<Fault> fault_named(std::string_view name) {
  for (int i = 0; i < fault_kinds; ++i) {
    if (to_string(static_cast<Fault>(i)) == name) return static_cast<Fault>(i);
  }
  return std::nullopt;
}

bool is_checked(std::string_view rule) {
  return std::ranges::any_of(Referee::guards(), [&](const Guard& one) { return one.rule == rule; });
}

/// Takes the words before the mark off the front of a text; all of it if there is no mark.
std::string take(std::string& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  std::string first = text.substr(0, at);
  text = at == text.npos ? std::string() : text.substr(at + mark.size());
  return first;
}

/// What the histories of a model end in if a rule is missing.
std::string harm_of(std::string_view model) {
  if (model == "fencing" || model == "tokens") return "fencing token ";
  if (model == "counters") return "is beyond all clocks";
  if (model == "founding") return "two lists of one founding";
  if (model == "waiting") return " overtook ";
  if (model == "by_token") return "is extended by its token although";
  return model == "once" ? "period " : "two holders of ";
}

BrokenRule read(std::string line) {
  const std::string whole = line;
  BrokenRule one;
  one.model = take(line, " | ");
  one.rule = take(line, " | ");
  one.harm = harm_of(one.model);
  std::string what = take(line, " | ");
  const std::string kind = take(what, " ");
  if (kind == "none:") {
    one.reason = what;
    return one;
  }
  const std::string name = take(what, " in ");
  if (kind == "mistake") one.mistake = mistake_named(name);
  if (kind == "fault") one.fault = fault_named(name);
  if (one.mistake != nullptr) one.focus = one.mistake->focus;
  const bool focused = what.empty() || (one.focus = focus_named(what)).has_value();
  if (is_checked(one.rule)) one.step = one.rule;
  while (!line.empty()) {
    std::string more = take(line, " | ");
    const std::string word = take(more, ": ");
    if (word == "step") {
      one.step = more;
    } else if (word == "no step") {
      one.step.clear();
    } else if (word == "no harm") {
      one.harm.clear();
    } else if (word == "ends in") {
      one.harm = more;
    } else {
      throw std::runtime_error("\"" + word + "\" says nothing in this line: " + whole);
    }
  }
  const bool known = one.mistake != nullptr || one.fault;
  if (!known || !focused || (!one.step.empty() && !is_checked(one.step)) || one.rule.empty()) {
    throw std::runtime_error("cannot read this line: " + whole);
  }
  // Else it would count as broken without a search.
  if (one.step.empty() && one.harm.empty()) {
    throw std::runtime_error("nothing is looked for in this line: " + whole);
  }
  return one;
}

}  // namespace

const KnownMutant* mistake_named(std::string_view name) {
  for (const KnownMutant& one : known_mutants()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::optional<Focus> focus_named(std::string_view name) {
  const auto* const found = std::ranges::find(focus_names, name);
  if (found == std::end(focus_names)) return std::nullopt;
  return static_cast<Focus>(found - std::begin(focus_names));
}

std::vector<BrokenRule> broken_rules(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<BrokenRule> rules;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') rules.push_back(read(line));
  }
  return rules;
}

}  // namespace quorumlock::sim
