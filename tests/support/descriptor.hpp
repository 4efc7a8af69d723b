#pragma once

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace quorumlock::test {

[[noreturn]] inline void fail_with_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Owns a file descriptor, and closes it in the destructor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace quorumlock::test
