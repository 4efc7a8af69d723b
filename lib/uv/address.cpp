#include "uv/address.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace quorumlock::uv {
namespace {

const sockaddr_in& v4_of(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}
const sockaddr_in6& v6_of(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

}  // namespace

Address::Address(const sockaddr& from) {
  storage_.ss_family = from.sa_family;
  if (from.sa_family == AF_INET) {
    take(reinterpret_cast<const sockaddr_in&>(from).sin_addr);
  } else if (from.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(from);
    take(v6.sin6_addr, v6.sin6_scope_id);
  }
}

void Address::take(const in_addr& bytes) {
  auto& v4 = reinterpret_cast<sockaddr_in&>(storage_);
  v4.sin_family = AF_INET;
  v4.sin_addr = bytes;
  size_ = sizeof v4;
}

void Address::take(const in6_addr& bytes, std::uint32_t zone) {
  auto& v6 = reinterpret_cast<sockaddr_in6&>(storage_);
  v6.sin6_family = AF_INET6;
  v6.sin6_addr = bytes;
  v6.sin6_scope_id = zone;
  size_ = sizeof v6;
}

std::optional<Address> Address::parse(const std::string& text) {
  // The system's resolver takes the short forms of IPv4 addresses for addresses, too.
  Address address;
  in_addr v4{};
  if (::inet_aton(text.c_str(), &v4) != 0) {
    address.take(v4);
    return address;
  }
  in6_addr v6{};
  const std::size_t mark = text.find('%');
  if (::inet_pton(AF_INET6, text.substr(0, mark).c_str(), &v6) != 1) return std::nullopt;
  std::uint32_t zone = 0;
  if (mark != text.npos) {
    const char* const its = text.c_str() + mark + 1;
    zone = ::if_nametoindex(its);
    if (zone == 0) zone = static_cast<std::uint32_t>(std::strtoul(its, nullptr, 10));
  }
  address.take(v6, zone);
  return address;
}

std::optional<Address> Address::of_path(const std::string& path) {
  Address address;
  auto& local = reinterpret_cast<sockaddr_un&>(address.storage_);
  if (path.size() >= sizeof local.sun_path) return std::nullopt;
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, path.c_str(), path.size() + 1);
  address.size_ = sizeof local;
  return address;
}

bool Address::lacks_zone() const {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6_of(storage_).sin6_addr) &&
         v6_of(storage_).sin6_scope_id == 0;
}

std::string Address::text() const {
  if (family() == AF_UNIX) return reinterpret_cast<const sockaddr_un&>(storage_).sun_path;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const bytes = family() == AF_INET
                                ? static_cast<const void*>(&v4_of(storage_).sin_addr)
                                : static_cast<const void*>(&v6_of(storage_).sin6_addr);
  ::inet_ntop(family(), bytes, text.data(), text.size());
  std::string whole = text.data();
  if (family() == AF_INET6 && v6_of(storage_).sin6_scope_id != 0) {
    std::array<char, IF_NAMESIZE> zone{};
    if (::if_indextoname(v6_of(storage_).sin6_scope_id, zone.data()) != nullptr) {
      whole += '%';
      whole += zone.data();
    }
  }
  return whole;
}

int Address::connect(int fd, int port) const {
  sockaddr_storage to = storage_;
  const in_port_t its = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET) reinterpret_cast<sockaddr_in&>(to).sin_port = its;
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(to).sin6_port = its;
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&to), size_) == 0 ? 0 : errno;
}

bool Address::operator==(const Address& other) const {
  return size_ == other.size_ && std::memcmp(&storage_, &other.storage_, size_) == 0;
}

}  // namespace quorumlock::uv
