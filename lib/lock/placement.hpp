#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::core {

/// Which quorum group and which loop a resource belongs to (docs/scaling.md).
///
/// The group is part of what all clients must agree on: the functions that lead to it never change.
/// The loop is this process's own matter.
class Placement {
 public:
  /// `groups` are names in any order; `loops` is at least 1.
  Placement(std::vector<std::string> groups, int loops, std::string key_prefix);

  struct Home {
    std::size_t group = 0;  ///< index of the group in the order given
    std::size_t loop = 0;
    bool operator==(const Home&) const = default;
  };
  /// The place of the key made of prefix and resource. Allocates nothing. O(bytes + groups).
  [[nodiscard]] Home of(std::string_view resource) const;

  /// FNV-1a, 64 bits.
  static std::uint64_t hash(std::string_view text);
  /// The hash of a key given in two parts. If there is text between the key's first '{' and the
  /// first '}' after it, only that text is hashed, else the whole key.
  static std::uint64_t key_hash(std::string_view prefix, std::string_view rest);
  /// The finalizer of SplitMix64: every bit of the result depends on every bit of the number.
  static std::uint64_t mixed(std::uint64_t number);
  /// The group with the greatest weight has the key; of two groups with equal weights, the one
  /// whose name comes first.
  static std::uint64_t weight(std::uint64_t group_hash, std::uint64_t key_hash) {
    return mixed(group_hash ^ key_hash);
  }

  /// The mark that a group's nodes are enrolled with, so that they detect clients configured with
  /// other groups: 16 hexadecimal digits. Empty if there is only one group.
  static std::string mark(std::vector<std::string> groups, std::string_view group);

 private:
  struct Group {
    std::uint64_t hash;
    std::size_t number;  ///< index in the order given
  };
  std::vector<Group> groups_;  ///< sorted by name
  std::uint64_t loops_;
  std::string key_prefix_;
};

}  // namespace quorumlock::core
