#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lock/claim.hpp"

namespace quorumlock::core {

/// The claims of an engine, in O(1) each.
class Claims {
 public:
  ClaimId take(std::string_view key, std::string_view token);
  void give_back(ClaimId id);
  /// Returns null once the claim has been given back.
  Claim* find(ClaimId id) { return all_.find(id); }
  Claim& operator[](ClaimId id) { return all_[id]; }
  ClaimId at(std::uint32_t index) { return all_.at(index); }
  /// Keeps the names that a lease has shared with its claim, for the next claim.
  void reuse(KeyAndToken names);

  /// Calls fn(ClaimId) for each claim; fn may give it back. O(the most claims ever).
  template <class F>
  void for_each(F&& fn) {
    all_.for_each(fn);
  }

 private:
  Slots<Claim> all_;
  std::vector<KeyAndToken> spare_names_;
};

}  // namespace quorumlock::core
