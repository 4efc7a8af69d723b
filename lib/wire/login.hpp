#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wire/reply.hpp"

namespace quorumlock::redis {

/// Overwrites a text and all that its buffer has room for, and leaves it empty.
void wipe(std::string& text) noexcept;

/// A text that is overwritten before its memory is given back, so that a core dump does not have it
/// in memory that nobody uses any more.
class Secret {
 public:
  Secret() = default;
  Secret(std::string text) noexcept : text_(std::move(text)) { wipe(text); }  // NOLINT: implicit
  Secret(const char* text) : text_(text) {}                                   // NOLINT: implicit
  Secret(const Secret& other) = default;
  Secret(Secret&& other) noexcept : Secret(std::move(other.text_)) {}
  Secret& operator=(const Secret& other) { return *this = Secret(other); }
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { wipe(text_); }

  [[nodiscard]] bool empty() const { return text_.empty(); }
  operator std::string_view() const { return text_; }  // NOLINT: implicit
  bool operator==(const Secret&) const = default;
  bool operator==(std::string_view text) const { return text_ == text; }

 private:
  std::string text_;
};

/// The login of a client at a node. If both are empty, the client does not log in.
struct Login {
  std::string user = {};  ///< empty: the default user
  Secret password = {};

  [[nodiscard]] bool empty() const { return user.empty() && password.empty(); }
  bool operator==(const Login&) const = default;
};

/// Appends the AUTH command of a login that is not empty, in one buffer that need not grow soon.
void append_login(std::string& out, const Login& login);
/// A node's words as they are shown, without the password: some servers repeat a command that they
/// refuse.
std::string words_of(const Reply& reply, const Login& login);

}  // namespace quorumlock::redis
