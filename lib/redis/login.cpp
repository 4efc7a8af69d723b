#include "redis/login.hpp"

#include <cstring>

#include "redis/words.hpp"

namespace quorumlock::redis {
namespace {

/// Room for what is usually sent in the turn after an AUTH: if the buffer grew meanwhile, a copy of
/// the password would stay in its old memory.
constexpr std::size_t room_after_login = std::size_t{64} << 10;

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
  if (password.empty()) return words_of(reply);
  constexpr std::string_view hidden = "***";
  std::string words(reply.text);  // the whole, since words_of() may cut a password in two
  for (std::size_t at = words.find(password); at != words.npos;
       at = words.find(password, at + hidden.size())) {
    words.replace(at, password.size(), hidden);
  }
  Reply shown = reply;
  shown.text = words;
  return words_of(shown);
}

}  // namespace quorumlock::redis
