#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include "failure.hpp"

namespace quorumlock::cli {

/// An event that can be polled for until it is cleared. Any thread may set it.
class Event {
 public:
  Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (fd_ < 0) throw Failure::system("cannot make an eventfd");
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { ::close(fd_); }

  [[nodiscard]] int fd() const { return fd_; }
  void set() noexcept { (void)::eventfd_write(fd_, 1); }
  void clear() noexcept {
    eventfd_t count = 0;
    (void)::eventfd_read(fd_, &count);
  }

 private:
  int fd_;
};

}  // namespace quorumlock::cli
