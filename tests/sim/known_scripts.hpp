#pragma once

#include <set>
#include <string>
#include <string_view>

#include "sim/requests.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

/// The scripts that a server has been sent. Throws std::logic_error for a script that is not the
/// library's.
class KnownScripts {
 public:
  /// The script with this source, which is known from now on.
  const redis::Script& learn(const std::string& source);
  /// The script with this hash, if the server has been sent it; else null.
  [[nodiscard]] const redis::Script* find(std::string_view sha1) const;
  void flush() { sent_.clear(); }
  /// SCRIPT LOAD, EXISTS or FLUSH; returns the reply as RESP.
  std::string command(std::string_view name, const Words& words);

 private:
  std::set<const redis::Script*> sent_;
};

}  // namespace quorumlock::sim
