#include "sim/known_scripts.hpp"

#include <stdexcept>
#include <vector>

#include "sim/data_commands.hpp"
#include "sim/resp.hpp"
#include "support/scripts.hpp"

namespace quorumlock::sim {

const redis::Script& KnownScripts::learn(const std::string& source) {
  const redis::Script* const script = test::script_by(&redis::Script::source, source);
  if (script == nullptr) throw std::logic_error("the simulated server does not know " + source);
  sent_.insert(script);
  return *script;
}

const redis::Script* KnownScripts::find(std::string_view sha1) const {
  const redis::Script* script = test::script_by_sha1(sha1);
  if (script == nullptr) script = test::script_by_sha1(data::lower(sha1));
  return sent_.contains(script) ? script : nullptr;
}

std::string KnownScripts::command(std::string_view name, const Words& words) {
  if (name == "script|load") return resp::bulk(learn(words[2]).sha1);
  if (name == "script|exists") {
    std::vector<std::string> there;
    for (std::size_t i = 2; i < words.size(); ++i) {
      there.push_back(resp::integer(find(words[i]) != nullptr ? 1 : 0));
    }
    return resp::array(there);
  }
  flush();
  return resp::status("OK");
}

}  // namespace quorumlock::sim
