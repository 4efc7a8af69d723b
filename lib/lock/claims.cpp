#include "lock/claims.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace quorumlock::core {

ClaimId Claims::take(std::string_view key, std::string_view token) {
  const ClaimId id = all_.take();
  Claim& claim = all_[id];
  std::destroy_at(&claim);
  std::construct_at(&claim);
  if (!spare_names_.empty()) {
    claim.names = std::move(spare_names_.back());
    spare_names_.pop_back();
  }
  claim.names.assign(key, token);
  return id;
}

void Claims::give_back(ClaimId id) {
  reuse(std::move(all_[id].names));
  all_.give_back(id);
}

void Claims::reuse(KeyAndToken names) {
  constexpr std::size_t most = 4096;
  if (names.empty() || names.shared() || spare_names_.size() == most) return;
  spare_names_.push_back(std::move(names));
}

}  // namespace quorumlock::core
