#include "support/hostile_server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace quorumlock::test {
namespace {

int listen_at(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(fd, 16) != 0) {
    throw std::runtime_error("cannot listen at " + path);
  }
  return fd;
}

bool would_block() {
  return errno == EAGAIN || errno == EINTR;
}

}  // namespace

HostileServer::HostileServer(Hostility hostility)
    : hostility_(std::move(hostility)),
      listener_(listen_at((directory_.path() / "socket").string())),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

HostileServer::~HostileServer() {
  ::eventfd_write(stop_, 1);
  thread_.join();
  for (const Connection& connection : connections_) ::close(connection.fd);
  ::close(listener_);
  ::close(stop_);
}

std::string HostileServer::url() const {
  return "unix://" + (directory_.path() / "socket").string();
}

void HostileServer::run() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.assign({{stop_, POLLIN, 0}, {listener_, POLLIN, 0}});
    for (const Connection& connection : connections_) {
      const short more = has_more(connection) ? POLLOUT : 0;
      polled.push_back({connection.fd, static_cast<short>(POLLIN | more), 0});
    }
    if (::poll(polled.data(), polled.size(), -1) < 0) continue;
    if (polled[0].revents != 0) return;
    // This begins at the back, so that the connections still to come keep their places in the poll.
    for (std::size_t i = connections_.size(); i-- > 0;) {
      const short ready = polled[i + 2].revents;
      Connection& connection = connections_[i];
      if ((ready & ~POLLOUT) != 0 && !read(connection)) {
        ++dropped_;
      } else if ((ready & POLLOUT) == 0 || write(connection)) {
        continue;
      }
      ::close(connection.fd);
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) accept();
  }
}

void HostileServer::accept() {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) connections_.push_back({fd, hostility_.at_once});
}

/// Only counts the commands: each begins a line with a star.
bool HostileServer::read(Connection& connection) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::recv(connection.fd, buffer.data(), buffer.size(), 0);
  if (size <= 0) return size < 0 && would_block();
  for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(size))) {
    if (c == '*' && connection.last_two == "\r\n") connection.out += hostility_.to_each;
    connection.last_two = {connection.last_two.back(), c};
  }
  return true;
}

bool HostileServer::has_more(const Connection& connection) const {
  // The endless part begins after the rest has been sent.
  return !connection.out.empty() ||
         (!hostility_.endless.empty() && (connection.sent > 0 || hostility_.to_each.empty()));
}

bool HostileServer::write(Connection& connection) {
  while (!hostility_.endless.empty() && connection.out.size() < hostility_.piece) {
    connection.out += hostility_.endless;
  }
  const std::size_t size = std::min(connection.out.size(), hostility_.piece);
  const ssize_t sent = ::send(connection.fd, connection.out.data(), size, MSG_NOSIGNAL);
  if (sent < 0) {
    if (would_block()) return true;
    ++dropped_;
    return false;
  }
  connection.out.erase(0, static_cast<std::size_t>(sent));
  connection.sent += static_cast<std::size_t>(sent);
  most_sent_ = std::max(most_sent_.load(), connection.sent);
  return !hostility_.closes || !connection.out.empty();
}

}  // namespace quorumlock::test
