#include "members/record_change.hpp"

#include <chrono>
#include <initializer_list>
#include <vector>

#include "members/candidacy.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

void call(std::string& out, const Script& script, std::initializer_list<std::string_view> keys,
          std::initializer_list<std::string_view> arguments) {
  const std::string count = std::to_string(keys.size());
  std::vector<std::string_view> words{"EVAL", script.source, count};
  words.insert(words.end(), keys);
  words.insert(words.end(), arguments);
  append_command(out, words);
}

}  // namespace

void read_texts(std::string& out) {
  append_command(out, {"MGET", enrolment_key, members_key});
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

void RecordChange::replace(std::string& out, std::string_view candidate,
                           std::string_view life) const {
  call(out, replace_script, {key, candidate_key}, {from, candidate, life});
}

void RecordChange::claim(std::string& out, core::Random& random) {
  mark = nonce(random);
  append_command(out, {"SET", repairer_key, mark, "NX", "PX", repairer_ms});
}

void RecordChange::yield(std::string& out) const {
  call(out, release_script, {}, {repairer_key, mark});
}

void RecordChange::enrol(std::string& out, std::string_view candidate, core::Duration age) const {
  const auto us = std::chrono::ceil<std::chrono::microseconds>(age).count();
  call(out, enrol_script, {enrolment_key, candidate_key, repairer_key, members_key},
       {std::to_string(us), to, candidate, as.text()});
}

void RecordChange::witness(std::string& out, std::string_view candidate,
                           std::string_view life) const {
  call(out, witness_script, {candidate_key}, {candidate, to, life});
}

void offer(std::string& out, std::string_view patience, std::string_view run_id,
           std::string_view candidate, std::string_view life) {
  call(out, candidate_script, {enrolment_key, candidate_key}, {patience, run_id, candidate, life});
}

}  // namespace quorumlock::redis
