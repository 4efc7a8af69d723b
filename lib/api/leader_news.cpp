#include "api/leader_news.hpp"

namespace quorumlock::detail {

std::optional<core::Duration> LeaderNews::see(core::Time now, const std::optional<Leader>& leader,
                                              std::uint64_t version) {
  const bool same = told_ && leader && told_->owner_token == leader->owner_token;
  const bool older = same && version <= told_version_;
  if (told_once_ && (leader == told_ || older)) {
    in_doubt_since_.reset();
    return std::nullopt;
  }
  if (version == 0) {
    if (!in_doubt_since_ || doubtful_ != leader) in_doubt_since_ = now;
    doubtful_ = leader;
    if (now < *in_doubt_since_ + lasts_) return *in_doubt_since_ + lasts_ - now;
  }
  in_doubt_since_.reset();
  told_once_ = true;
  told_ = leader;
  told_version_ = version;
  return core::Duration::zero();
}

}  // namespace quorumlock::detail
