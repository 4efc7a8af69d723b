#pragma once

#include <cstdint>
#include <optional>

#include <quorumlock/election.hpp>

#include "lock/types.hpp"

namespace quorumlock::detail {

/// Decides which of the leaders that a watch sees are news to its user.
///
/// An older announcement by the same leader is not news, and neither is its silence. A leader
/// without an announcement, or no leader, is in doubt, and news only once it has been seen for a
/// while: the announcement may be on its way, or the next leader.
class LeaderNews {
 public:
  /// A leader in doubt has to be seen for as long as `lasts`.
  explicit LeaderNews(core::Duration lasts) : lasts_(lasts) {}

  /// Takes what a quorum says: the leader, and the version of its announcement, 0 if it has none.
  /// Returns zero if that is news now, a time if it is news unless it has changed after that time,
  /// and nothing if it is not news.
  std::optional<core::Duration> see(core::Time now, const std::optional<Leader>& leader,
                                    std::uint64_t version);

 private:
  core::Duration lasts_;
  bool told_once_ = false;
  std::optional<Leader> told_;
  std::uint64_t told_version_ = 0;
  std::optional<core::Time> in_doubt_since_;
  std::optional<Leader> doubtful_;  ///< if in_doubt_since_ is set
};

}  // namespace quorumlock::detail
