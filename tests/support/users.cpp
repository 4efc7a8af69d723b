#include "support/users.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace quorumlock::test {
namespace {

constexpr const char* page_prefix = "locks:";  // the prefix in the page's examples

std::string with_prefix(std::string word, const std::string& prefix) {
  const std::size_t at = word.find(page_prefix);
  if (word.starts_with('~') && at != word.npos) {
    word.replace(at, std::string(page_prefix).size(), prefix);
  }
  return word;
}

}  // namespace

bool users_of_tests() {
  return std::getenv("QUORUMLOCK_TEST_ACL") != nullptr;
}

std::vector<std::string> words_of_user(const std::string& user, const std::string& password,
                                       const std::string& prefix) {
  const std::string begin = "ACL SETUSER ";
  std::ifstream page(QUORUMLOCK_SECURITY_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with(begin + user + " ")) continue;
    std::istringstream words(line.substr(begin.size()));
    std::vector<std::string> all;
    for (std::string word; words >> word;) {
      // ~* has them all.
      if (prefix.empty() && word.find("~quorumlock:") != word.npos) continue;
      all.push_back(word == ">PASSWORD" ? ">" + password : with_prefix(word, prefix));
    }
    if (prefix.empty()) all.push_back("+scan");
    return all;
  }
  throw std::runtime_error("docs/security.md has no line for the user " + user);
}

std::vector<std::string> settings_with_user(const std::string& user) {
  std::vector<std::string> words = {"--user", "default", "off", "--user"};
  for (std::string& word : words_of_user(user, password_of_users, "")) words.push_back(word);
  words.insert(words.end(), {"--user", test_user, "on", std::string(">") + password_of_users,
                             "+@all", "~*", "&*"});
  return words;
}

std::string with_login(std::string url, const std::string& user) {
  return url.insert(url.find("://") + 3, user + ":" + password_of_users + "@");
}

}  // namespace quorumlock::test
