#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace quorumlock::uv {

/// The address of a machine, without a port, or the path of a unix socket.
class Address {
 public:
  Address() = default;
  /// Takes the IPv4 or IPv6 address out of a socket's address.
  explicit Address(const sockaddr& from);
  /// Reads an address; nothing if the text is a name. An IPv6 address may have a zone, as in
  /// fe80::1%eth0.
  static std::optional<Address> parse(const std::string& text);
  /// Nothing if the path is too long.
  static std::optional<Address> of_path(const std::string& path);

  /// AF_INET, AF_INET6 or AF_UNIX.
  [[nodiscard]] int family() const { return storage_.ss_family; }
  /// Whether the address means something only together with an interface, and has none.
  [[nodiscard]] bool lacks_zone() const;
  /// As a person writes it.
  [[nodiscard]] std::string text() const;
  /// Begins to connect this socket to that port. Returns zero, or the error.
  [[nodiscard]] int connect(int fd, int port) const;
  bool operator==(const Address& other) const;

 private:
  void take(const in_addr& bytes);
  void take(const in6_addr& bytes, std::uint32_t zone);

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace quorumlock::uv
