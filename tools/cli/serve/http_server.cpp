#include "serve/http_server.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <httplib.h>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

using Steady = std::chrono::steady_clock;

/// More connections wait in the kernel until one of these has ended.
constexpr std::size_t most_let_in = 64;
constexpr std::size_t most_newcomers = 32;
constexpr int backlog = 1024;
/// A newcomer gives way to another only after this time, in which a client sends its request.
constexpr std::chrono::milliseconds gives_way_after{100};
/// If the process has no descriptor left for a connection, it is not tried again for this long, or
/// until there is news. The waiting one would make poll() return at once.
constexpr int pause_without_descriptors_ms = 100;
/// A client gets this long to send its request.
constexpr std::chrono::seconds request_within{2};
/// A client gets this long to take one part of the reply: all of it, or one message of a stream.
constexpr std::chrono::seconds part_within{20};
/// After the reply the client gets this long to close, so that it reads the reply to its end.
constexpr std::chrono::milliseconds close_within{500};
constexpr std::size_t longest_head = 32 * 1024;

IoStep step_of(ssize_t count, short wait_for) {
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return {.wait_for = wait_for};
  return {};
}

/// A client's connection as httplib reads and writes it. Nothing waits beyond its time, and nothing
/// once the program ends.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, int stopping) : socket_(socket), stopping_(stopping) {}

  /// Whether the client begins as TLS does, and not with the words of HTTP.
  bool begins_with_tls() {
    constexpr char handshake = 22;
    char first = 0;
    const auto look = [&] { return step_of(::recv(socket_, &first, 1, MSG_PEEK), POLLIN); };
    return carried_out(request_ends_, look) == 0 || first == handshake;
  }
  /// Makes the handshake. Returns false if it fails.
  bool begin(std::unique_ptr<TlsConnection> tls) {
    tls_ = std::move(tls);
    return carried_out(request_ends_, [&] { return tls_->greet(); }) > 0;
  }
  /// Why the client has no certificate; empty if it has one. See TlsConnection::no_certificate().
  [[nodiscard]] std::string no_certificate() const {
    return tls_ == nullptr ? "it does not speak TLS" : tls_->no_certificate();
  }

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, std::size_t size) override {
    if (next_ == end_ && !receive()) return -1;
    const std::size_t count = std::min(size, end_ - next_);
    std::copy_n(buffer_ + next_, count, to);
    next_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* from, std::size_t size) override {
    const auto deadline = Steady::now() + part_within;
    for (std::size_t sent = 0; sent < size;) {
      const std::size_t count =
          carried_out(deadline, [&] { return send(from + sent, size - sent); });
      if (count == 0) return -1;
      sent += count;
    }
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

  /// Closes the sending side and waits for the client to close its own. If the socket were closed
  /// with bytes unread, the client could lose the reply.
  void finish() {
    if (tls_ != nullptr) tls_->end();
    ::shutdown(socket_, SHUT_WR);
    request_ends_ = Steady::now() + close_within;
    received_ = 0;
    while (receive()) {
    }
  }

 private:
  bool receive() {
    if (received_ >= longest_head) return false;
    next_ = 0;
    end_ = carried_out(request_ends_, [&] { return read(); });
    received_ += end_;
    return end_ != 0;
  }
  IoStep read() {
    if (tls_ != nullptr) return tls_->read(buffer_, sizeof buffer_);
    return step_of(::recv(socket_, buffer_, sizeof buffer_, 0), POLLIN);
  }
  IoStep send(const char* from, std::size_t size) {
    if (tls_ != nullptr) return tls_->write(from, size);
    return step_of(::send(socket_, from, size, MSG_NOSIGNAL), POLLOUT);
  }
  /// Repeats a call until it has done something. Returns zero if it has done nothing by the
  /// deadline, or the connection is over.
  template <class Call>
  std::size_t carried_out(Steady::time_point deadline, Call call) const {
    for (;;) {
      const IoStep step = call();
      if (step.bytes > 0) return step.bytes;
      if (step.has_ended() || !wait_for(step.wait_for, deadline)) return 0;
    }
  }
  bool wait_for(short events, Steady::time_point deadline) const {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
      if (left <= std::chrono::milliseconds::zero()) return false;
      pollfd ready[] = {{socket_, events, 0}, {stopping_, POLLIN, 0}};
      if (::poll(ready, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
      if ((ready[1].revents & POLLIN) != 0) return false;
      if (ready[0].revents != 0) return true;
    }
  }

  const int socket_;
  const int stopping_;
  std::unique_ptr<TlsConnection> tls_;
  Steady::time_point request_ends_ = Steady::now() + request_within;
  std::size_t received_ = 0;
  char buffer_[4096];
  std::size_t next_ = 0, end_ = 0;
};

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return text;
}

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request{.method = from.method, .path = from.path, .query = {}, .headers = {}};
  for (const auto& [name, value] : from.params) request.query.try_emplace(name, value);
  for (const auto& [name, value] : from.headers) {
    request.headers.try_emplace(in_small_letters(name), value);
  }
  return request;
}

void send_more(httplib::Response& to, const HttpReply& reply) {
  to.set_chunked_content_provider(reply.type,
                                  [more = reply.more](std::size_t, httplib::DataSink& sink) {
                                    const std::string text = more();
                                    if (!text.empty()) return sink.write(text.data(), text.size());
                                    sink.done();
                                    return true;
                                  });
}

/// httplib's reading of a request and writing of a reply. Sockets and threads are ours.
class Protocol final : public httplib::Server {
 public:
  Protocol(HttpSite site, int listening) : site_(std::move(site)) {
    // The page loads nothing from elsewhere and is not framed; no reply is stored or guessed at.
    set_default_headers({{"Content-Security-Policy",
                          "default-src 'none'; script-src 'self'; style-src 'self'; "
                          "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
                          "form-action 'none'; frame-ancestors 'none'"},
                         {"X-Content-Type-Options", "nosniff"},
                         {"X-Frame-Options", "DENY"},
                         {"Referrer-Policy", "no-referrer"},
                         {"Cross-Origin-Resource-Policy", "same-origin"},
                         {"Cache-Control", "no-store"}});
    // This runs before httplib reads a body, which no request of ours has.
    set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
      HttpReply reply;
      try {
        reply = site_(request_of(from));
      } catch (const std::exception& error) {
        reply = HttpReply::sentence(500, error.what());
      }
      to.status = reply.status;
      for (const auto& [name, value] : reply.headers) to.headers.emplace(name, value);
      if (reply.more != nullptr && from.method != "HEAD") {
        send_more(to, reply);
      } else {
        to.set_content(reply.body, reply.type);
      }
      return HandlerResponse::Handled;
    });
    svr_sock_ = listening;  // httplib ends streams if there is none
  }
  ~Protocol() override { svr_sock_ = INVALID_SOCKET; }

  void answer(BoundedStream& stream) {
    bool closed = false;
    process_request(stream, true, closed, [](httplib::Request& request) {
      // Many ranges of a long reply would make it longer, and no client needs parts or compression.
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
    });
  }

 private:
  const HttpSite site_;
};

std::string shown_host(const std::string& host) {
  return host.find(':') == host.npos ? host : "[" + host + "]";
}

int listening_socket(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  // A port is free at once after the program before has ended; two programs cannot share it.
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, backlog) == 0 &&
      ::fcntl(socket, F_SETFL, O_NONBLOCK) == 0) {
    return socket;
  }
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

std::string port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  char port[NI_MAXSERV] = "";
  if (::getsockname(socket, generic, &size) == 0) {
    ::getnameinfo(generic, size, nullptr, 0, port, sizeof port, NI_NUMERICSERV);
  }
  return port;
}

}  // namespace

HttpServer::HttpServer(const ListenAddress& address, HttpSite site, TlsServer* tls)
    : site_(std::move(site)), tls_(tls) {
  const std::string place = shown_host(address.host) + ":";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found) != 0) {
    throw Failure::local("cannot listen on " + place + address.port + ": the host has no address");
  }
  for (const addrinfo* one = found; one != nullptr && listening_ < 0; one = one->ai_next) {
    listening_ = listening_socket(*one);
  }
  const int error = errno;
  ::freeaddrinfo(found);
  errno = error;
  if (listening_ < 0) throw Failure::system("cannot listen on " + place + address.port);
  url_ = (tls_ != nullptr ? "https://" : "http://") + place + port_of(listening_) + "/";
}

HttpServer::~HttpServer() {
  ::close(listening_);
  stopping_.set();
  for (Connection& one : connections_) {
    one.thread.join();
    ::close(one.socket);
  }
}

void HttpServer::serve_until_readable(int fd) {
  int rest = 0;
  for (;;) {
    pollfd ready[] = {
        {fd, POLLIN, 0}, {news_.fd(), POLLIN, 0}, {rest == 0 ? listening_ : -1, POLLIN, 0}};
    await_ready(ready, rest == 0 ? -1 : rest);
    if (ready[0].revents != 0) return;
    if (ready[1].revents != 0) join_ended();
    rest = ready[2].revents != 0 ? accept_one() : 0;
  }
}

int HttpServer::accept_one() {
  if (const int rest = rest_without_room(); rest != 0) return rest;
  const int socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {  // any other errno means that the client has gone again
    const bool none_left =
        errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return none_left ? pause_without_descriptors_ms : 0;
  }
  Connection& connection = connections_.emplace_back(socket);
  try {
    connection.thread = std::thread([this, &connection] {
      answer(connection);
      connection.ended = true;
      news_.set();
    });
  } catch (const std::system_error&) {  // no more threads
    ::close(socket);
    connections_.pop_back();
  }
  return 0;
}

int HttpServer::rest_without_room() {
  const auto is_newcomer = [](const Connection& one) { return !one.let_in; };
  const auto newcomers = static_cast<std::size_t>(std::ranges::count_if(connections_, is_newcomer));
  if (connections_.size() - newcomers >= most_let_in) return -1;
  if (newcomers < most_newcomers) return 0;
  const Connection& oldest = *std::ranges::find_if(connections_, is_newcomer);
  const auto left = oldest.since + gives_way_after - Steady::now();
  if (left > Steady::duration::zero()) {
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
  }
  ::shutdown(oldest.socket, SHUT_RDWR);  // its thread ends at once
  return -1;
}

void HttpServer::answer(Connection& connection) {
  BoundedStream stream(connection.socket, stopping_.fd());
  if (tls_ != nullptr && !stream.begins_with_tls()) {
    Protocol(
        [](const HttpRequest&) {
          return HttpReply::sentence(400,
                                     "this port speaks TLS: ask for https:// instead of http://");
        },
        listening_)
        .answer(stream);
  } else if (tls_ == nullptr || stream.begin(tls_->connection(connection.socket))) {
    Protocol(
        [&](const HttpRequest& asked) {
          HttpRequest request = asked;
          request.no_certificate = stream.no_certificate();
          request.has_certificate = request.no_certificate.empty();
          request.let_in = [this, &connection] {
            connection.let_in = true;
            news_.set();
          };
          return site_(request);
        },
        listening_)
        .answer(stream);
  }
  stream.finish();
}

void HttpServer::join_ended() {
  news_.clear();
  std::erase_if(connections_, [](Connection& one) {
    if (!one.ended) return false;
    one.thread.join();
    ::close(one.socket);
    return true;
  });
}

}  // namespace quorumlock::cli
