#include "wire/write_buffer.hpp"

#include <utility>

namespace quorumlock::redis {

void WriteBuffer::add_login(const Login& login) {
  has_password_ = true;
  append_login(text_, login);
}

void WriteBuffer::wrote(std::size_t bytes) {
  written_ += bytes;
  if (has_password_ && written_ == text_.size()) return clear();
  if (written_ <= text_.size() / 2) return;  // so less is moved than was written
  text_.erase(0, written_);
  written_ = 0;
}

void WriteBuffer::clear() {
  if (std::exchange(has_password_, false)) wipe(text_);
  text_.clear();
  written_ = 0;
}

}  // namespace quorumlock::redis
