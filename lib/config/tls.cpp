#include "config/tls.hpp"

#include <algorithm>
#include <utility>

#include "config/quoted.hpp"
#include "config/refusal.hpp"

namespace quorumlock::detail {
namespace {

/// Files and directories as options name them.
constexpr std::pair<const char*, std::optional<std::string> TlsOptions::*> paths[] = {
    {"ca_file", &TlsOptions::ca_file},
    {"ca_dir", &TlsOptions::ca_dir},
    {"cert_file", &TlsOptions::cert_file},
    {"key_file", &TlsOptions::key_file},
};

bool is_host(const std::string& name) {
  constexpr std::size_t longest_name = 253;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':';
  });
  return plain && !name.empty() && name.size() <= longest_name;
}

}  // namespace

TlsOptions merged(const TlsOptions& own, const TlsOptions& all) {
  TlsOptions both = own;
  const auto take = [&](auto member) {
    if (!(both.*member)) both.*member = all.*member;
  };
  take(&TlsOptions::server_name);
  take(&TlsOptions::min_version);
  take(&TlsOptions::unsafe_skip_verify);
  // The authorities are one decision, and the certificate with its key is another. A node that sets
  // a part of one of them inherits nothing of it.
  if (!own.ca_file && !own.ca_dir) {
    both.ca_file = all.ca_file;
    both.ca_dir = all.ca_dir;
  }
  if (!own.cert_file && !own.key_file) {
    both.cert_file = all.cert_file;
    both.key_file = all.key_file;
  }
  return both;
}

Result<void> check_tls(const std::string& name, const TlsOptions& options) {
  for (const auto& [key, member] : paths) {
    const std::optional<std::string>& path = options.*member;
    if (!path || (!path->empty() && path->find('\0') == path->npos)) continue;
    return refusal(name + "." + key + " is " + quoted_unless_secret(*path) +
                   ": it must be a path; leave it out to have none");
  }
  if (options.server_name && !is_host(*options.server_name)) {
    return refusal(name + ".server_name is " + quoted_unless_secret(*options.server_name) +
                   ": it must be a host name, such as lock1.example, or an IP address");
  }
  if (options.cert_file.has_value() == options.key_file.has_value()) return {};
  const bool lacks_key = options.cert_file.has_value();
  return refusal(name +
                 (lacks_key ? ".cert_file is given without " : ".key_file is given without ") +
                 name + (lacks_key ? ".key_file" : ".cert_file") +
                 ": give both, or neither; they may be the same file");
}

}  // namespace quorumlock::detail
