#include "notifier.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "globals.hpp"

namespace quorumlock::cli {
namespace {

/// A status is one line: a resource's name may contain anything.
std::string one_line(std::string sentence) {
  std::ranges::replace_if(
      sentence, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return sentence;
}

}  // namespace

Notifier::Notifier() {
  const char* variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr || *variable == '\0') return;
  address_ = variable;
  if (const std::string trouble = open(); !trouble.empty()) warn(trouble);
}

std::string Notifier::open() {
  if (address_.front() != '/' && address_.front() != '@') {
    return "it is neither a path that begins with / nor a name that begins with @";
  }
  // A path ends with a zero byte; an abstract name has one in place of its '@'.
  const std::size_t room = sizeof(sockaddr_un::sun_path) - (address_.front() == '/' ? 1 : 0);
  if (address_.size() > room) {
    return "it has " + std::to_string(address_.size()) + " bytes, and a socket's name at most " +
           std::to_string(room);
  }
  fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return std::generic_category().message(errno);
  const timeval patience{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return {};
}

Notifier::~Notifier() {
  if (fd_ >= 0) ::close(fd_);
}

void Notifier::ready(const std::string& sentence) {
  send("READY=1\n", sentence);
}

void Notifier::status(const std::string& sentence) {
  send("", sentence);
}

void Notifier::stopping(const std::string& sentence) {
  send("STOPPING=1\n", sentence);
}

void Notifier::send(const std::string& assignment, const std::string& sentence) {
  if (fd_ < 0) return;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::ranges::copy(address_, to.sun_path);
  std::size_t length = offsetof(sockaddr_un, sun_path) + address_.size();
  if (address_.front() == '@') {
    to.sun_path[0] = '\0';
  } else {
    ++length;
  }
  const std::string message = assignment + "STATUS=" + one_line(sentence);
  ssize_t sent = 0;
  do {
    sent = ::sendto(fd_, message.data(), message.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(length));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) warn(std::generic_category().message(errno));
}

void Notifier::warn(const std::string& why) {
  if (std::exchange(warned_, true)) return;
  Globals::warn("the service manager cannot be notified at NOTIFY_SOCKET, " + address_ + ": " +
                why);
}

}  // namespace quorumlock::cli
