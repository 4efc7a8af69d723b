#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "local/descriptor.hpp"
#include "support/eventually.hpp"

namespace quorumlock::test {

/// The socket of a service manager, as NOTIFY_SOCKET names it: a path, or '@' and an abstract name.
class NotifySocket {
 public:
  explicit NotifySocket(std::string name)
      : name_(std::move(name)), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    address_.sun_family = AF_UNIX;
    std::ranges::copy(name_, address_.sun_path);
    if (name_.front() == '@') address_.sun_path[0] = '\0';
    if (::bind(socket_.get(), address(), size()) != 0) {
      local::fail_with_errno("cannot bind the service manager's socket");
    }
  }
  ~NotifySocket() {
    if (name_.front() == '/') ::unlink(name_.c_str());
  }

  [[nodiscard]] std::string variable() const { return "NOTIFY_SOCKET=" + name_; }
  /// Returns the next message. Throws std::runtime_error if none comes.
  [[nodiscard]] std::string message() const {
    constexpr int patience_ms = static_cast<int>(std::chrono::milliseconds(patience).count());
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, patience_ms) <= 0) throw std::runtime_error("no message came");
    std::string text(4096, '\0');
    const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    return text;
  }
  static constexpr const char* filling = "x";
  /// Fills the socket's queue with these messages.
  void fill() const {
    for (ssize_t sent = 1; sent > 0;) {
      // A sender may have sent as much as it may before the socket is full.
      const local::Descriptor sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0));
      sent = 0;
      while (::sendto(sender.get(), filling, 1, 0, address(), size()) == 1) ++sent;
    }
  }
  /// Whether a message has come that message() has not returned.
  [[nodiscard]] bool has_more() const {
    pollfd ready{socket_.get(), POLLIN, 0};
    return ::poll(&ready, 1, 0) > 0;
  }

 private:
  [[nodiscard]] const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  [[nodiscard]] socklen_t size() const {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
  }

  std::string name_;
  sockaddr_un address_{};
  local::Descriptor socket_;
};

}  // namespace quorumlock::test
