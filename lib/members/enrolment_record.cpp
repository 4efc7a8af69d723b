#include "members/enrolment_record.hpp"

#include <charconv>
#include <utility>
#include <vector>

namespace quorumlock::redis {
namespace {

template <class T>
bool read(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, char at_each) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(at_each, at);
    words.push_back(text.substr(at, end - at));
    if (end == text.npos) return words;
    at = end + 1;
  }
}

constexpr auto all_the_same = ": all clients must name the same groups, and each node in its own";

std::string groups_in_words(const EnrolmentTerms& terms) {
  return terms.groups.empty() ? "one group alone" : "groups with the mark " + terms.groups;
}

}  // namespace

TermsDifference::TermsDifference(const EnrolmentTerms& theirs, const EnrolmentTerms& ours_are) {
  const auto differ = [this](Vote as, std::string what, std::string one, std::string other) {
    vote = as;
    name = std::move(what);
    its = std::move(one);
    ours = std::move(other);
  };
  if (theirs.max_ttl_ms != ours_are.max_ttl_ms) {
    differ(Vote::max_ttl_differs, "max_ttl", std::to_string(theirs.max_ttl_ms) + " ms",
           std::to_string(ours_are.max_ttl_ms) + " ms");
  } else if (theirs.groups != ours_are.groups) {
    differ(Vote::groups_differ, "groups", groups_in_words(theirs), groups_in_words(ours_are));
  } else if (theirs.fencing_memory_s != ours_are.fencing_memory_s) {
    differ(Vote::terms_differ, "fencing_memory", std::to_string(theirs.fencing_memory_s) + " s",
           std::to_string(ours_are.fencing_memory_s) + " s");
  }
}

std::string TermsDifference::of_a_record() const {
  if (vote == Vote::groups_differ) {
    return "is enrolled for " + its + ", and ours are " + ours + all_the_same;
  }
  return "is enrolled with " + name + " " + its + ", and ours is " + ours +
         ": it must be the same for all clients";
}

std::string TermsDifference::of_a_candidate() const {
  if (vote == Vote::groups_differ) {
    return " by a client with other groups than " + ours + all_the_same;
  }
  return " by a client with another " + name + " than our " + ours +
         ": it must be the same for all clients";
}

std::optional<EnrolmentTerms> EnrolmentTerms::parse(std::string_view text) {
  EnrolmentTerms terms;
  const std::size_t at = text.find('@');
  const std::vector<std::string_view> words = split(text.substr(0, at), ',');
  if (words.size() != 2) return std::nullopt;
  if (!read(words[0], terms.max_ttl_ms) || terms.max_ttl_ms <= 0) return std::nullopt;
  if (!read(words[1], terms.fencing_memory_s) || terms.fencing_memory_s <= 0) return std::nullopt;
  if (at == text.npos) return terms;
  terms.groups = text.substr(at + 1);
  return terms.groups.empty() ? std::nullopt : std::optional(terms);
}

std::string EnrolmentTerms::to_string() const {
  return std::to_string(max_ttl_ms) + ',' + std::to_string(fencing_memory_s) +
         (groups.empty() ? "" : "@" + groups);
}

bool is_this_run(std::string_view recorded, std::string_view reported) {
  if (recorded == reported) return true;
  const bool forgot_its_history = reported.find('+') == reported.npos;
  return forgot_its_history && recorded.starts_with(reported) &&
         recorded.substr(reported.size()).starts_with('+');
}

std::optional<EnrolmentRecord> EnrolmentRecord::parse(std::string_view text) {
  const std::vector<std::string_view> words = split(text, ':');
  EnrolmentRecord record;
  if (words.size() != 2 && words.size() != 4) return std::nullopt;
  record.run_id = words[0];
  if (record.run_id.empty()) return std::nullopt;
  const std::size_t drawn = words[1].find('@');
  if (drawn == words[1].npos || drawn == 0) return std::nullopt;
  record.nonce = words[1].substr(0, drawn);
  std::string_view agreed = words[1].substr(drawn + 1);
  if (const std::size_t at = agreed.find('#'); at != agreed.npos) {
    record.members = MembersMark::parse(agreed.substr(at + 1));
    agreed = agreed.substr(0, at);
    if (!record.members || agreed.find('@') == agreed.npos) return std::nullopt;
    if (agreed.ends_with('@')) agreed.remove_suffix(1);
  }
  const std::optional<EnrolmentTerms> terms = EnrolmentTerms::parse(agreed);
  if (!terms) return std::nullopt;
  record.terms = *terms;
  if (words.size() == 4 && !(read(words[2], record.floor) && read(words[3], record.since))) {
    return std::nullopt;
  }
  return record;
}

std::string EnrolmentRecord::to_string() const {
  std::string text = run_id + ':' + nonce + '@' + terms.to_string();
  if (members) text += (terms.groups.empty() ? "@#" : "#") + members->to_string();
  if (floor != 0) text += ':' + std::to_string(floor) + ':' + std::to_string(since);
  return text;
}

std::optional<EnrolmentCandidate> EnrolmentCandidate::parse(std::string_view text) {
  EnrolmentCandidate candidate;
  const std::size_t begins = text.find(';');
  if (begins == text.npos) return std::nullopt;
  const std::vector<std::string_view> times = split(text.substr(begins + 1), ',');
  if (!read(times[0], candidate.begun)) return std::nullopt;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const std::size_t end = times[i].rfind('=');
    if (end == times[i].npos) return std::nullopt;
    std::int64_t& time = candidate.times[std::string(times[i].substr(0, end))];
    if (!read(times[i].substr(end + 1), time)) return std::nullopt;
  }
  text = text.substr(0, begins);
  const std::vector<std::string_view> words = split(text, ':');
  if (words.size() < 2 || words.size() > 3) return std::nullopt;
  const auto record = EnrolmentRecord::parse(text.substr(0, words[0].size() + 1 + words[1].size()));
  if (!record) return std::nullopt;
  candidate.record = *record;
  if (words.size() == 3 && !read(words[2], candidate.wait_ms)) return std::nullopt;
  return candidate;
}

std::string EnrolmentCandidate::to_string() const {
  std::string text = record.to_string();
  if (wait_ms != 0) text += ':' + std::to_string(wait_ms);
  if (begun != 0) text += ';' + std::to_string(begun);
  for (const auto& [name, time] : times) text += ',' + name + '=' + std::to_string(time);
  return text;
}

}  // namespace quorumlock::redis
