#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "failure.hpp"

namespace quorumlock::cli {

/// Waits until a descriptor is ready, a signal has come or the time is over, as poll() does; -1 ms
/// is without end. Throws Failure if the system does not let us wait, since asking again and again
/// would use up a processor.
inline void await_ready(std::span<pollfd> descriptors, int ms) {
  if (::poll(descriptors.data(), descriptors.size(), ms) >= 0) return;
  if (errno != EINTR) {
    throw Failure::system("cannot wait for anything, because the system call poll() failed" +
                          std::string(errno == EPERM || errno == ENOSYS
                                          ? " (does this process's seccomp profile forbid it?)"
                                          : ""));
  }
  for (pollfd& one : descriptors) one.revents = 0;
}

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
