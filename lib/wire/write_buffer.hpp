#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/login.hpp"

namespace quorumlock::redis {

/// The bytes that are to be written to a connection. Its memory is kept, and overwritten as soon as
/// a password in it has been written.
class WriteBuffer {
 public:
  /// The text to which commands are appended.
  std::string& text() { return text_; }
  /// Appends the AUTH command of a login that is not empty.
  void add_login(const Login& login);
  /// The bytes still to be written.
  [[nodiscard]] std::string_view unwritten() const {
    return std::string_view(text_).substr(written_);
  }
  /// Reports that the first `bytes` of unwritten() were written.
  void wrote(std::size_t bytes);
  /// Drops all bytes, and overwrites their memory if there is a password in it.
  void clear();

 private:
  std::string text_;
  std::size_t written_ = 0;
  bool has_password_ = false;
};

}  // namespace quorumlock::redis
