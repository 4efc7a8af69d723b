#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "core/types.hpp"

namespace quorumlock::core {

/// The holder that keeps an acquisition from its lock, as far as the nodes agree on one.
class Rival {
 public:
  /// Notes that a node holds the lock for this token; for none if the token is empty. `since` is
  /// when the holder got it, by our clock; `never` if the node does not report that.
  void note(Time now, int node, std::string_view token, Time since) {
    token = token.substr(0, most_bytes);
    if (token.empty()) return nodes_.remove(node);
    if (token != token_) {
      // We were there when one holder followed the other.
      if (!token_.empty() && since == never) since = now;
      token_.assign(token);
      nodes_ = NodeSet();
      since_ = since;
    }
    nodes_.add(node);
    since_ = std::min(since_, since);
  }
  /// Its token, if at least this many nodes hold the lock for it; else empty.
  [[nodiscard]] std::string_view token(int nodes) const {
    return nodes_.size() < nodes ? std::string_view() : token_;
  }
  /// Since when it has the lock, by our clock; `never` if that is not known.
  [[nodiscard]] Time since() const { return since_; }

 private:
  static constexpr std::size_t most_bytes = 128;
  std::string token_;
  NodeSet nodes_;
  Time since_ = never;
};

}  // namespace quorumlock::core
