#include "uv/socket.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace quorumlock::uv {
namespace {

std::string sentence_of(int error) {
  return std::generic_category().message(error);
}

/// Returns the error with which the kernel gave up the connection; libuv reports only that it did.
int pending_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// TCP keep-alive starts after 30 s of silence, which also keeps most middleboxes from forgetting
/// the connection. A peer that is gone is noticed 45 s after its last sign of life, or 45 s after
/// the oldest byte that it has not acknowledged: without TCP_USER_TIMEOUT the kernel would
/// retransmit that byte for a quarter of an hour.
constexpr int keep_alive_after_s = 30;
constexpr int between_probes_s = 5;
constexpr int probes = 3;
constexpr int gone_after_ms = 1000 * (keep_alive_after_s + between_probes_s * probes);

void set_tcp_options(int fd) {
  const auto set = [fd](int level, int option, int value) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_after_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, between_probes_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, probes);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, gone_after_ms);
}

}  // namespace

Socket::Socket(uv_loop_t* loop, Open& open, Names& names, Clock::duration within, Events& events)
    : loop_(loop), open_(open), names_(names), within_(within), events_(events) {}

void Socket::connect_tcp(const std::string& host, int port) {
  close();
  port_ = port;
  if (const std::optional<Address> address = Address::parse(host)) {
    name_.reset();
    return connect_to(*address);
  }
  name_ = names_.at(host);
  race_.emplace(within_);
  name_->seek(Clock::now(), *this);
  if (race_) race();
}

void Socket::connect_unix(const std::string& path) {
  close();
  name_.reset();
  const std::optional<Address> address = Address::of_path(path);
  if (!address) return end("the socket's path is too long");
  connect_to(*address);
}

void Socket::connect_to(const Address& address) {
  race_.emplace(within_);
  race_->offer({&address, 1});
  race_->complete();
  race();
}

void Socket::on_addresses(std::span<const Address> some) {
  if (!race_) return;
  race_->offer(some);
  race();
}

void Socket::on_answer(const Resolved& answer) {
  if (fd_) {
    if (answer.lacks(address_)) end("its name does not lead to " + address_.text() + " any more");
    return;
  }
  if (!race_) return;
  for (const Address& address : race_->addresses()) {
    if (!answer.lacks(address)) continue;
    race_->withdraw(address);
    std::erase_if(attempts_, [&](const Attempt& it) { return it.address == address; });
  }
  race_->offer(answer.addresses);
  race_->complete(answer.addresses.empty() ? answer.why : "");
  race();
}

/// Begins to connect to the addresses whose turn it is. If none is left, the attempt has failed.
void Socket::race() {
  const Clock::time_point now = Clock::now();
  while (const std::optional<Address> address = race_->next(now)) begin(*address);
  if (race_->is_lost(now)) return end(race_->why(name_ != nullptr));
  if (name_) events_.on_awaiting(race_->awaited());
  if (!race_) return;  // closed in that call
  try {
    const Clock::time_point due = race_->deadline();
    if (!timer_ && due != Clock::time_point::max())
      timer_.emplace(loop_, open_, [this] {
        if (race_) race();
      });
    if (timer_) timer_->arm(due);
  } catch (const std::exception& error) {
    end(error.what());
  }
}

void Socket::begin(const Address& address) {
  Descriptor fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return failed(address, errno);
  if (address.family() != AF_UNIX) set_tcp_options(fd.get());
  const int error = address.connect(fd.get(), port_);
  if (error != 0 && error != EINPROGRESS) return failed(address, error);
  try {
    auto poll = std::make_unique<Poll>(
        loop_, open_, fd.get(),
        [this, number = fd.get()](int status, int events) { on_ready(number, status, events); });
    poll->wait_for(UV_WRITABLE);
    attempts_.push_back({address, std::move(fd), std::move(poll)});
  } catch (const std::system_error& shortage) {
    failed(address, shortage.code().value());
  }
}

void Socket::failed(const Address& address, int error) {
  const bool no_zone = error == EINVAL && address.lacks_zone();
  race_->failed(Clock::now(), address,
                no_zone ? "this address needs an interface that exists here, as in fe80::1%eth0"
                        : sentence_of(error));
}

void Socket::on_ready(int fd, int status, int events) {
  if (race_) {
    const auto at = std::ranges::find_if(
        attempts_, [fd](const Attempt& attempt) { return attempt.fd.get() == fd; });
    if (at != attempts_.end()) on_connected(*at);
    return;
  }
  if (status < 0) {  // the last bytes before the error may give the reason
    while (read()) {
    }
    if (fd_) end(sentence_of(pending_error(fd_.get())));
    return;
  }
  if ((events & UV_READABLE) != 0) {
    read();
    if (!fd_) return;
  }
  if ((events & UV_WRITABLE) != 0 && blocked_) {
    blocked_ = false;
    poll_->wait_for(UV_READABLE);
    events_.on_writable();
  }
}

void Socket::on_connected(Attempt& attempt) {
  const Address address = attempt.address;
  if (const int error = pending_error(attempt.fd.get()); error != 0) {
    std::erase_if(attempts_, [&](const Attempt& it) { return it.address == address; });
    failed(address, error);
    return race();
  }
  address_ = address;
  fd_ = std::move(attempt.fd);
  poll_ = std::move(attempt.poll);
  attempts_.clear();
  race_.reset();
  if (timer_) timer_->arm(Clock::time_point::max());
  poll_->wait_for(UV_READABLE);
  if (name_) events_.on_awaiting(address_.text());
  if (fd_) events_.on_open();
}

bool Socket::read() {
  if (!fd_) return false;
  std::array<char, 16 * 1024> buffer;
  const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (size > 0) {
    if (!std::exchange(heard_, true) && name_) name_->worked(address_);
    events_.on_bytes(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  } else if (size == 0) {
    end("the node closed the connection");
  } else if (errno != EAGAIN && errno != EINTR) {
    end(sentence_of(errno));
  }
  return size > 0;
}

std::size_t Socket::write(std::string_view bytes) {
  if (!fd_ || blocked_) return 0;
  const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  const std::size_t taken = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  // An error of the connection is left to read(), which sees it too, on the loop.
  if (taken < bytes.size() && (sent >= 0 || errno == EAGAIN || errno == EINTR)) {
    blocked_ = true;
    poll_->wait_for(UV_READABLE | UV_WRITABLE);
  }
  return taken;
}

void Socket::end(std::string why) {
  close();
  events_.on_closed(why);
}

void Socket::close() {
  if (name_) name_->leave(*this);
  race_.reset();
  attempts_.clear();
  timer_.reset();
  poll_.reset();
  fd_.reset();
  heard_ = blocked_ = false;
}

}  // namespace quorumlock::uv
