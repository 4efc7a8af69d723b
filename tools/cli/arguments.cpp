#include "arguments.hpp"

#include <algorithm>

namespace quorumlock::cli {
namespace {

/// Overwrites users and passwords in the URLs of an argument, which other processes can see for as
/// long as we run.
void hide_secrets(char* argument) {
  const std::string_view text = argument;
  for (std::size_t at = text.find('@'); at != text.npos; at = text.find('@', at + 1)) {
    const std::size_t scheme = text.rfind("://", at);
    if (scheme == text.npos) continue;
    std::fill(argument + scheme + 3, argument + at, '*');
  }
}

}  // namespace

Arguments::Arguments(int argc, char** argv) : own(argv + 1, argv + argc) {
  const auto dashes = std::ranges::find(own, "--");
  std::for_each(argv + 1, argv + 1 + (dashes - own.begin()), hide_secrets);
  json = std::find(own.begin(), dashes, "--json") != dashes;
  for (auto word = own.begin(); word != dashes; ++word) {
    const auto value = word + 1;
    if (*word == "--log-format=json") json_log = true;
    if (*word == "--log-format" && value != dashes && *value == "json") json_log = true;
  }
  for (auto word = own.begin(); word != dashes; ++word) {
    if (*word == "--config" || *word == "--nodes" || *word == "--log-format") {
      if (++word == dashes) break;
    } else if (!word->starts_with('-')) {
      command = *word;
      break;
    }
  }
  if (runs_a_command() && dashes != own.end()) {
    behind_dashes.emplace(dashes + 1, own.end());
    own.erase(dashes, own.end());
  }
}

std::string Arguments::without_secrets(std::string sentence) const {
  for (const std::string_view word : own) {
    // In --flag=value only the value matters: a complaint may quote the value alone.
    const std::string_view url = word.substr(word.starts_with("--") ? word.find('=') + 1 : 0);
    if (url.find("://") == url.npos || url.find('@') == url.npos) continue;
    for (std::size_t at = 0; (at = sentence.find(url, at)) != sentence.npos;) {
      sentence.replace(at, url.size(), "***");
    }
  }
  return sentence;
}

}  // namespace quorumlock::cli
