#include "notifier.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <quorumlock/event.hpp>

#include "globals.hpp"
#include "meanwhile.hpp"

namespace quorumlock::cli {
namespace {

/// Longer times between two signs of life are refused: poll() takes no more milliseconds.
constexpr std::int64_t longest_us = 1'000'000'000'000;

}  // namespace

Notifier::Notifier() {
  const char* variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr || *variable == '\0') return;
  address_ = variable;
  if (const std::string trouble = open(); !trouble.empty()) {
    warn(trouble);
  } else {
    read_watchdog();
  }
}

void Notifier::read_watchdog() {
  const char* const process = std::getenv("WATCHDOG_PID");
  if (process != nullptr && process != std::to_string(::getpid())) return;
  const char* const variable = std::getenv("WATCHDOG_USEC");
  if (variable == nullptr) return;
  const std::string_view text = variable;
  std::int64_t us = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (error != std::errc() || stop != text.data() + text.size() || us <= 0 || us > longest_us) {
    return Globals::warn("WATCHDOG_USEC is not a number of microseconds from 1 to " +
                         std::to_string(longest_us) + ": no sign of life is sent");
  }
  alive_every_ = std::chrono::nanoseconds(std::chrono::microseconds(us)) / 2;
}

int Notifier::keep_alive() {
  if (ready_is_owed_) send("");
  const int again = ready_is_owed_ ? 1000 : -1;
  if (!alive_every_) return again;
  const Clock::time_point now = Clock::now();
  if (now >= alive_until_) {
    alive_until_ = now + *alive_every_;
    send("WATCHDOG=1");
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(alive_until_ - now);
  return sooner(again, static_cast<int>(left.count()));
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
  fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return fd_ < 0 ? std::generic_category().message(errno) : "";
}

Notifier::~Notifier() {
  if (fd_ >= 0) ::close(fd_);
}

void Notifier::ready(const std::string& sentence) {
  ready_is_owed_ = fd_ >= 0;
  report("", sentence);
}

void Notifier::status(const std::string& sentence) {
  report("", sentence);
}

void Notifier::stopping(const std::string& sentence) {
  report("STOPPING=1\n", sentence);
}

void Notifier::report(const std::string& assignment, const std::string& sentence) {
  send(assignment + "STATUS=" + printable(sentence));
}

/// Sends READY=1, too, if it is owed. What a full socket does not take is not waited for, since a
/// lock with a short ttl would be lost meanwhile.
void Notifier::send(const std::string& assignments) {
  if (fd_ < 0) return;
  const std::string message = (ready_is_owed_ ? "READY=1\n" : "") + assignments;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::ranges::copy(address_, to.sun_path);
  std::size_t length = offsetof(sockaddr_un, sun_path) + address_.size();
  if (address_.front() == '@') {
    to.sun_path[0] = '\0';
  } else {
    ++length;
  }
  ssize_t sent = 0;
  do {
    sent = ::sendto(fd_, message.data(), message.size(), MSG_NOSIGNAL,
                    reinterpret_cast<const sockaddr*>(&to), static_cast<socklen_t>(length));
  } while (sent < 0 && errno == EINTR);
  const int error = sent < 0 ? errno : 0;
  ready_is_owed_ = ready_is_owed_ && error == EAGAIN;
  if (error != 0) warn(std::generic_category().message(error));
}

void Notifier::warn(const std::string& why) {
  if (std::exchange(warned_, true)) return;
  Globals::warn("the service manager cannot be notified at NOTIFY_SOCKET, " + address_ + ": " +
                why);
}

}  // namespace quorumlock::cli
