#include <chrono>
#include <utility>
#include <vector>

#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

// The commands for several locks at once in Redis's words: one script call with all the keys.
namespace quorumlock::redis {
namespace {

const Script& script_for_all(core::CommandKind kind) {
  switch (kind) {
    case core::CommandKind::raise: return raise_all_script;
    case core::CommandKind::renew: return renew_all_script;
    case core::CommandKind::release: return release_all_script;
    default: return acquire_all_script;
  }
}

}  // namespace

void append_command_for_all(std::string& out, const core::Send& send, const Surroundings& around,
                            std::string_view waiter, std::string_view not_woken) {
  using core::CommandKind;
  const CommandKind kind = send.tag.kind;
  const auto ms = [](core::Duration span) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
  };
  std::vector<std::string> words(1, send.tag.with_source ? "EVAL" : "EVALSHA");
  const Script& script = script_for_all(kind);
  words.emplace_back(send.tag.with_source ? script.source : script.sha1);
  const std::size_t locks = 1 + send.others.size();
  words.push_back(std::to_string(says_enrolment(kind) ? 2 * locks + 1 : locks));
  words.emplace_back(send.key);
  words.insert(words.end(), send.others.begin(), send.others.end());
  if (says_enrolment(kind)) {
    for (std::size_t i = 0; i < locks; ++i) {
      words.push_back(std::string(counter_prefix) + words[3 + i]);
    }
    words.emplace_back(enrolment_key);
  }
  words.emplace_back(send.token);
  const std::string_view life = around.counter_life;
  const std::string_view mode = send.shared ? "r" : "w";
  const auto add = [&words](std::initializer_list<std::string_view> more) {
    for (const std::string_view word : more) words.emplace_back(word);
  };
  switch (kind) {
    case CommandKind::acquire:
      add({ms(send.ttl), std::to_string(send.fence), std::to_string(around.wall_us),
           send.fenced ? life : "0", waiter, std::to_string(send.ticket), ms(send.entry_life),
           mode});
      break;
    case CommandKind::raise: add({std::to_string(send.fence), life}); break;
    case CommandKind::renew:
      add({ms(send.ttl), std::to_string(send.fence), send.replant ? "1" : "0", life, mode});
      break;
    default:
      if (!waiter.empty() || !not_woken.empty()) add({waiter, not_woken});
  }
  out.append("*").append(std::to_string(words.size() + own_words(kind))).append("\r\n");
  for (const std::string& word : words) append_word(out, word);
}

}  // namespace quorumlock::redis
