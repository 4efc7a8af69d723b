#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

namespace quorumlock::sim {

/// Checks the keys that remain after releases. A node that has run a release has no key of that
/// owner afterwards, unless a connection between the two has broken: then a key may arrive later,
/// and stays for one ttl. An owner of several keys has all of them on a node, or none.
class Tidiness {
 public:
  using Report = std::function<void(std::string)>;
  explicit Tidiness(Report report) : report_(std::move(report)) {}

  void released(int node, const std::string& token) { released_[node].insert(token); }
  /// Called with the number of this owner's keys on the node: all or none of them must be there.
  void has_keys(int node, const std::string& token, std::size_t count, std::size_t of) {
    if (count == 0 || count == of) return;
    report_("node " + std::to_string(node + 1) + " has " + std::to_string(count) + " of the " +
            std::to_string(of) + " keys of owner " + token.substr(0, 8));
  }
  void has_key(int node, const std::string& token) {
    if (!released_[node].contains(token)) return;
    report_("node " + std::to_string(node + 1) + " was asked to release owner " +
            token.substr(0, 8) + " and then has its key again");
  }

 private:
  std::map<int, std::unordered_set<std::string>> released_;  ///< by node
  Report report_;
};

}  // namespace quorumlock::sim
