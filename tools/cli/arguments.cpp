#include "arguments.hpp"

#include <algorithm>
#include <utility>

namespace quorumlock::cli {
namespace {

/// The next login in the URLs of a text, up to and including its @, as an offset and a size; no
/// size if there is none at `from` or after it.
std::pair<std::size_t, std::size_t> next_login(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('@', from); at != text.npos; at = text.find('@', at + 1)) {
    const std::size_t scheme = text.rfind("://", at);
    if (scheme != text.npos) return {scheme + 3, at + 1 - (scheme + 3)};
  }
  return {text.size(), 0};
}

/// Overwrites users and passwords in the URLs of an argument, which other processes can see for as
/// long as we run.
void hide_secrets(char* argument) {
  std::size_t from = 0;
  for (;;) {
    const auto [begin, size] = next_login(argument, from);
    if (size == 0) return;
    from = begin + size;
    std::fill(argument + begin, argument + from - 1, '*');
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

std::string without_logins(std::string urls) {
  for (;;) {
    const auto [begin, size] = next_login(urls, 0);
    if (size == 0) return urls;
    urls.erase(begin, size);
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
