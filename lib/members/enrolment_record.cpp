#include "members/enrolment_record.hpp"

#include <charconv>
#include <cstdio>
#include <span>
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

std::string groups_in_words(std::string_view groups) {
  return groups.empty() ? "one group alone" : "groups with the mark " + std::string(groups);
}

}  // namespace

std::string nonce(core::Random& random) {
  std::uint64_t number = 0;
  random.fill(std::as_writable_bytes(std::span(&number, 1)));
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

RecordTexts texts_of(const Reply& reply) {
  RecordTexts texts;
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return texts;
  const auto text = [](const Reply& word) {
    return word.type == Reply::Type::string ? std::optional<std::string>(word.text) : std::nullopt;
  };
  texts.record = text(reply.elements[0]);
  texts.members = text(reply.elements[1]);
  return texts;
}

std::string enrolled_for_groups(std::string_view theirs, std::string_view ours) {
  return "is enrolled for " + groups_in_words(theirs) + ", and ours are " + groups_in_words(ours) +
         all_the_same;
}

std::string being_enrolled_for_groups(std::string_view ours) {
  return " by a client with other groups than " + groups_in_words(ours) + all_the_same;
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
  const std::string_view agreed = words[1].substr(drawn + 1);
  const std::size_t at = agreed.find('#');
  if (at == agreed.npos) return std::nullopt;
  const std::optional<MembersMark> members = MembersMark::parse(agreed.substr(at + 1));
  record.groups = agreed.substr(0, at);
  // A record of an earlier build has its terms there.
  if (!members || record.groups.find_first_of(",@") != record.groups.npos) return std::nullopt;
  record.members = *members;
  if (words.size() == 4 && !(read(words[2], record.floor) && read(words[3], record.since))) {
    return std::nullopt;
  }
  return record;
}

std::string EnrolmentRecord::to_string() const {
  std::string text = run_id + ':' + nonce + '@' + groups + '#' + members.to_string();
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
