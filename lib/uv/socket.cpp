#include "uv/socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
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

/// A host name that is being resolved. libuv owns it until its callback; `socket` is null once the
/// socket does not want the result any more.
struct Socket::Resolution {
  uv_getaddrinfo_t request{};
  Socket* socket;
  Open open;
};

Socket::Socket(uv_loop_t* loop, Open& open, Events& events)
    : loop_(loop), open_(open), events_(events) {}

void Socket::connect_tcp(const std::string& host, int port) {
  close();
  Address address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (uv_ip4_addr(host.c_str(), port, v4) == 0) {
    address.size = sizeof *v4;
  } else if (uv_ip6_addr(host.c_str(), port, v6) == 0) {
    address.size = sizeof *v6;
  }
  if (address.size != 0) {
    addresses_.push_back(address);
    return try_next("no address");
  }

  resolution_ = new Resolution{{}, this, open_};
  resolution_->request.data = resolution_;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  const int status = uv_getaddrinfo(
      loop_, &resolution_->request,
      [](uv_getaddrinfo_t* request, int result, addrinfo* found) {
        const std::unique_ptr<Resolution> mine(static_cast<Resolution*>(request->data));
        if (mine->socket != nullptr) {
          mine->socket->resolution_ = nullptr;
          mine->socket->on_resolved(result, found);
        }
        uv_freeaddrinfo(found);
        mine->open.remove();
      },
      host.c_str(), std::to_string(port).c_str(), &hints);
  if (status < 0) {
    delete std::exchange(resolution_, nullptr);
    return end(std::string("cannot resolve the name: ") + uv_strerror(status));
  }
  open_.add();
}

void Socket::on_resolved(int status, const addrinfo* found) {
  if (status < 0) return end(std::string("cannot resolve the name: ") + uv_strerror(status));
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    Address address;
    if (next->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, next->ai_addr, next->ai_addrlen);
    address.size = next->ai_addrlen;
    addresses_.insert(addresses_.begin(), address);
  }
  try_next("the name has no address");
}

void Socket::connect_unix(const std::string& path) {
  close();
  Address address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.size() >= sizeof local->sun_path) return end("the socket's path is too long");
  local->sun_family = AF_UNIX;
  std::memcpy(local->sun_path, path.c_str(), path.size() + 1);
  address.size = sizeof *local;
  addresses_.push_back(address);
  try_next("no address");
}

/// Begins to connect to the next address. If there is none left, the attempt has failed.
void Socket::try_next(std::string why_not) {
  while (!addresses_.empty()) {
    const Address address = addresses_.back();
    addresses_.pop_back();
    poll_.reset();
    fd_ = Descriptor(
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd_) {
      why_not = sentence_of(errno);
      continue;
    }
    if (address.storage.ss_family != AF_UNIX) set_tcp_options(fd_.get());
    const int done =
        ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size);
    if (done != 0 && errno != EINPROGRESS) {
      why_not = sentence_of(errno);
      fd_.reset();
      continue;
    }
    connecting_ = true;
    poll_ = std::make_unique<Poll>(loop_, open_, fd_.get(),
                                   [this](int status, int events) { on_ready(status, events); });
    return poll_->wait_for(UV_WRITABLE);
  }
  end(std::move(why_not));
}

void Socket::on_ready(int status, int events) {
  if (connecting_) return on_connected();
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

void Socket::on_connected() {
  if (const int error = pending_error(fd_.get()); error != 0) return try_next(sentence_of(error));
  connecting_ = false;
  addresses_.clear();
  poll_->wait_for(UV_READABLE);
  events_.on_open();
}

bool Socket::read() {
  if (!fd_ || connecting_) return false;
  std::array<char, 16 * 1024> buffer;
  const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (size > 0) {
    events_.on_bytes(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  } else if (size == 0) {
    end("the node closed the connection");
  } else if (errno != EAGAIN && errno != EINTR) {
    end(sentence_of(errno));
  }
  return size > 0;
}

std::size_t Socket::write(std::string_view bytes) {
  if (!fd_ || connecting_ || blocked_) return 0;
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
  if (resolution_ != nullptr) {
    std::exchange(resolution_, nullptr)->socket = nullptr;
  }
  addresses_.clear();
  poll_.reset();
  fd_.reset();
  connecting_ = blocked_ = false;
}

}  // namespace quorumlock::uv
