#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "wire/endpoint.hpp"

// Who can reach a server, or listen to what is sent to it.
namespace quorumlock::detail {

/// Whether this address or name means this machine.
inline bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

/// Whether what is sent to this node, or to its Sentinels, leaves this machine. `primary` is the
/// address that the Sentinels have reported, if any.
inline bool leaves_the_machine(const redis::Endpoint& endpoint,
                               const std::optional<redis::HostPort>& primary) {
  const auto elsewhere = [](const redis::HostPort& one) { return !is_loopback(one.host); };
  if (primary && elsewhere(*primary)) return true;
  if (endpoint.sentinels) return std::ranges::any_of(endpoint.sentinels->addresses, elsewhere);
  return endpoint.path.empty() && !is_loopback(endpoint.host);
}

/// Whether one of these addresses can be reached from other machines.
inline bool listens_beyond_loopback(std::string_view bind) {
  if (bind.empty()) return true;
  while (!bind.empty()) {
    const std::size_t end = std::min(bind.find(' '), bind.size());
    std::string_view address = bind.substr(0, end);
    bind.remove_prefix(std::min(end + 1, bind.size()));
    if (address.starts_with('-')) address.remove_prefix(1);  // '-': the address may be missing
    if (!address.empty() && !is_loopback(address)) return true;
  }
  return false;
}

}  // namespace quorumlock::detail
