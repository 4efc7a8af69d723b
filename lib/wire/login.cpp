#include "wire/login.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

/// Room for what is usually sent in the turn after an AUTH: if the buffer grew meanwhile, a copy of
/// the password would stay in its old memory.
constexpr std::size_t room_after_login = std::size_t{64} << 10;

/// A password that is shorter is likely to be a part of the server's own words.
constexpr std::size_t guessable = 6;

/// Whether a server says this to anybody, whatever the password is.
bool is_fixed(std::string_view text) {
  constexpr std::string_view all[] = {
      "WRONGPASS invalid username-password pair or user is disabled.",
      "ERR AUTH <password> called without any password configured for the default user. Are you "
      "sure your configuration is correct?",
      "NOAUTH Authentication required.", "ERR max number of clients reached"};
  return std::ranges::find(all, text) != std::end(all);
}

}  // namespace

void wipe(std::string& text) noexcept {
  text.resize(text.capacity());  // never allocates
  ::explicit_bzero(text.data(), text.size());
  text.clear();
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe(text_);
  text_ = std::move(other.text_);
  wipe(other.text_);  // a short text was copied
  return *this;
}

void append_login(std::string& out, const Login& login) {
  out.reserve(out.size() + login.user.size() + std::string_view(login.password).size() +
              room_after_login);
  if (login.user.empty()) return append_command(out, {"AUTH", login.password});
  append_command(out, {"AUTH", login.user, login.password});  // it may have no password
}

std::string words_of(const Reply& reply, const Login& login) {
  const std::string_view password = login.password;
  if (password.empty() || is_fixed(reply.text)) return words_of(reply);
  constexpr std::string_view hidden = "***";
  std::string words(reply.text);  // the whole, since words_of() may cut a password in two
  if (password.size() < guessable) {
    // What is left around it would show it, and the first word may be it.
    const std::string code = words.substr(0, words.find(' '));
    const bool shows = code.find(password) != code.npos;
    words = shows ? hidden : code + ' ' + std::string(hidden);
  } else {
    for (std::size_t at = words.find(password); at != words.npos;
         at = words.find(password, at + hidden.size())) {
      words.replace(at, password.size(), hidden);
    }
  }
  Reply shown = reply;
  shown.text = words;
  return words_of(shown);
}

}  // namespace quorumlock::redis
