#include "serve/listen_address.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

bool is_loopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](unsigned char letter) {
    return std::isdigit(letter) != 0;
  }) && std::stoi(text) <= 65535;
}

}  // namespace

ListenAddress ListenAddress::read(const std::string& text) {
  const std::string what = "--listen is \"" + text + "\": ";
  const auto colon = text.rfind(':');
  ListenAddress address;
  if (colon != text.npos) {
    address.host = text.substr(0, colon);
    address.port = text.substr(colon + 1);
  }
  const bool bracketed = address.host.starts_with('[') && address.host.ends_with(']');
  if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
  if (address.host.empty() || !is_port(address.port) ||
      bracketed != (address.host.find(':') != text.npos)) {
    throw Failure::usage(what + "give HOST:PORT, such as 127.0.0.1:9470 or [::1]:9470");
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &found);
  if (error != 0) throw Failure::usage(what + "the host has no address: " + ::gai_strerror(error));
  address.loopback = true;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    address.loopback = address.loopback && is_loopback(one->ai_addr);
  }
  ::freeaddrinfo(found);
  return address;
}

}  // namespace quorumlock::cli
