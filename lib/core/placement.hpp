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
  /// Groups by name, in any order; `loops` from 1 on.
  Placement(std::vector<std::string> groups, int loops, std::string key_prefix);

  struct Place {
    std::size_t group = 0;  ///< in the order given
    std::size_t loop = 0;
    bool operator==(const Place&) const = default;
  };
  /// Of the key that prefix and resource make. Allocates nothing. O(bytes + groups).
  [[nodiscard]] Place of(std::string_view resource) const;

  /// FNV-1a, 64 bits.
  static std::uint64_t hash(std::string_view text);
  /// Of a key in two parts: of what stands between its first '{' and the first '}' behind that,
  /// where that is anything, else of all of it.
  static std::uint64_t key_hash(std::string_view prefix, std::string_view rest);
  /// The finalizer of SplitMix64: every bit of the result depends on every bit of the number.
  static std::uint64_t mixed(std::uint64_t number);
  /// The group with the greatest weight has the key; of two with the same, the one whose name comes
  /// first.
  static std::uint64_t weight(std::uint64_t group_hash, std::uint64_t key_hash) {
    return mixed(group_hash ^ key_hash);
  }

  /// What the nodes of a group are enrolled with, so that clients who name other groups are told:
  /// 16 hexadecimal digits. Empty for a group that is the only one.
  static std::string mark(std::vector<std::string> groups, std::string_view group);

 private:
  struct Group {
    std::uint64_t hash;
    std::size_t number;  ///< in the order given
  };
  std::vector<Group> groups_;  ///< by name
  std::uint64_t loops_;
  std::string key_prefix_;
};

}  // namespace quorumlock::core
