#include "cli/http_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "support/eventually.hpp"

namespace quorumlock::test {

HttpConnection::HttpConnection(int port)
    : port_(port), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
}

HttpConnection::HttpConnection(HttpConnection&& other) noexcept
    : port_(other.port_),
      socket_(std::exchange(other.socket_, -1)),
      unread_(std::move(other.unread_)) {}

HttpConnection::~HttpConnection() {
  if (socket_ >= 0) ::close(socket_);
}

void HttpConnection::send(const std::string& text) {
  (void)::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

void HttpConnection::ask(const std::string& method, const std::string& path,
                         const std::string& headers) {
  const bool has_host = headers.find("Host:") != headers.npos;
  send(method + " " + path + " HTTP/1.1\r\n" +
       (has_host ? "" : "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n") + headers + "\r\n");
}

bool HttpConnection::read_some() {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) <= 0) {
    throw std::runtime_error("the server says nothing more; it said: " + unread_);
  }
  char buffer[16 * 1024];
  const ssize_t size = ::recv(socket_, buffer, sizeof buffer, 0);
  if (size > 0) unread_.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

std::string HttpConnection::line() {
  std::size_t end = 0;
  while ((end = unread_.find('\n')) == unread_.npos) {
    if (!read_some()) throw std::runtime_error("the server has closed the connection: " + unread_);
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

HttpAnswer HttpConnection::answer() {
  HttpAnswer answer;
  answer.status = std::stoi(line().substr(std::string("HTTP/1.1 ").size()));
  for (std::string header = line(); !header.empty(); header = line()) {
    std::string name = header.substr(0, header.find(':'));
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = header.substr(std::min(header.size(), name.size() + 2));
  }
  while (read_some()) {
  }
  answer.body = std::exchange(unread_, {});
  return answer;
}

nlohmann::json HttpConnection::event(const std::string& name) {
  while (line() != "event: " + name) {
  }
  return nlohmann::json::parse(line().substr(std::string("data: ").size()));
}

bool HttpConnection::ends() {
  try {
    while (read_some()) {
    }
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace quorumlock::test
