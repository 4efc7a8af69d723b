#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "members/enrolment.hpp"
#include "members/membership.hpp"

// Tests of other things write records without the mark of the membership. These functions put the
// mark in and take it out.
namespace quorumlock::test {

/// A list that was founded once, as this node carries it.
inline redis::Membership founded(const std::string& node, redis::NodeNames names) {
  return {1, 0, ListPhase::settled, node, {}, std::move(names)};
}

/// The ruling on a node that may be enrolled as soon as it has waited. `refusal` is why it does not
/// vote.
inline redis::Ruling all_agree(const redis::Membership& as, std::string refusal = {}) {
  redis::Ruling ruling;
  ruling.refusal = std::move(refusal);
  ruling.founded = ruling.admitted = std::make_shared<redis::Membership>(as);
  return ruling;
}

/// A record or candidate with the mark of this membership, unless it has one or is neither.
inline std::string with_mark(const std::string& text, const redis::Membership& membership) {
  static const std::regex before_mark("^([^:]+:[^:@#;]+)(@[^:#;]*)?(:|;|$)");
  std::smatch found;
  if (!std::regex_search(text, found, before_mark)) return text;
  const std::string groups = found[2].matched ? found[2].str() : "@";
  return found[1].str() + groups + "#" + membership.mark().to_string() + found[3].str() +
         found.suffix().str();
}

/// The record with which the node is enrolled on which this candidate stands.
inline std::string record_of(const std::string& candidate) {
  return candidate.substr(0, candidate.find(':', candidate.find(':') + 1));
}

/// A proposed candidate as it stands on a node, which began at this TIME.
inline constexpr std::int64_t candidates_begin = 1'700'000'000'000'000;
inline std::string as_it_stands(const std::string& candidate) {
  if (candidate.find(';') != candidate.npos) return candidate;
  return candidate + ";" + std::to_string(candidates_begin);
}

/// The same text without the marks in it, and without the TIME of as_it_stands().
inline std::string without_marks(const std::string& text) {
  static const std::regex mark("#[0-9a-f]{16}\\.[0-9]+[sau]\\.[0-9a-f]{16}");
  static const std::regex lone("@(?=[: ]|$)");
  static const std::regex begun(";1700000000000000");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, mark, ""), begun, ""), lone,
                            "");
}

}  // namespace quorumlock::test
