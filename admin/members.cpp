#include <quorumlock/admin.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "admin/group_of_nodes.hpp"

namespace quorumlock {
namespace detail {

/// All groups of a configuration.
class MembersChanger {
 public:
  std::vector<std::unique_ptr<GroupOfNodes>> groups;

  /// Calls `act` for each group until one fails; the error names the group.
  template <class Do>
  Result<void> for_each(Do&& act) {
    for (const auto& group : groups) {
      Result<void> done = act(*group);
      if (!done && !group->name().empty()) {
        return Error(done.error().code(), "group " + group->name() + ": " + done.error().what());
      }
      if (!done) return done;
    }
    return {};
  }
};

}  // namespace detail

using detail::GroupOfNodes;
using detail::MembersChanger;

std::string_view to_string(MembersStage stage) noexcept {
  switch (stage) {
    case MembersStage::agreed: return "agreed";
    case MembersStage::differs: return "differs";
    case MembersStage::announced: return "announced";
    case MembersStage::committed: return "committed";
    case MembersStage::other: return "other";
    case MembersStage::unknown: return "unknown";
  }
  return "unknown";
}

std::string_view to_string(MemberState state) noexcept {
  switch (state) {
    case MemberState::settled: return "settled";
    case MemberState::announced: return "announced";
    case MemberState::unsettled: return "unsettled";
    case MemberState::removed: return "removed";
    case MemberState::fresh: return "new";
    case MemberState::waiting: return "waiting";
    case MemberState::behind: return "behind";
    case MemberState::apart: return "apart";
    case MemberState::unreachable: return "unreachable";
  }
  return "unknown";
}

std::vector<std::string> MembersReport::old_clients() const {
  std::set<std::string> all;
  for (const Member& member : members) {
    if (member.old_clients) all.insert(member.old_clients->begin(), member.old_clients->end());
  }
  return {all.begin(), all.end()};
}

MembersChange::MembersChange(std::unique_ptr<MembersChanger> changer) noexcept
    : changer_(std::move(changer)) {}
MembersChange::MembersChange(MembersChange&&) noexcept = default;
MembersChange& MembersChange::operator=(MembersChange&&) noexcept = default;
MembersChange::~MembersChange() = default;

Result<MembersChange> MembersChange::open(Options options, Nodes leaving) {
  if (const Result<void> valid = options.validate(); !valid) return valid.error();
  options.loops = 1;
  auto groups = std::exchange(options.groups, {});
  if (groups.empty()) groups[""] = options.nodes;
  auto changer = std::make_unique<MembersChanger>();
  for (auto& [name, nodes] : groups) {
    options.nodes = nodes;
    changer->groups.push_back(std::make_unique<GroupOfNodes>(name, options, leaving));
  }
  const Result<void> connected =
      changer->for_each([](GroupOfNodes& group) { return group.connect(); });
  if (!connected) return connected.error();
  return MembersChange(std::move(changer));
}

Result<std::vector<MembersReport>> MembersChange::look() {
  std::vector<MembersReport> reports;
  for (const auto& group : changer_->groups) reports.push_back(group->report());
  return reports;
}

std::vector<Finding> MembersChange::bad_counters() {
  std::vector<Finding> all;
  for (const auto& group : changer_->groups) {
    std::ranges::move(group->bad_counters(), std::back_inserter(all));
  }
  return all;
}

Result<void> MembersChange::check() {
  return changer_->for_each([](GroupOfNodes& group) { return group.check(); });
}

Result<void> MembersChange::announce() {
  // All groups are checked before any of them is changed.
  if (Result<void> may = check(); !may) return may;
  return changer_->for_each([](GroupOfNodes& group) { return group.announce(); });
}

Result<void> MembersChange::commit(bool force) {
  return changer_->for_each([force](GroupOfNodes& group) { return group.commit(force); });
}

Result<std::chrono::nanoseconds> MembersChange::settle() {
  std::chrono::nanoseconds longest{};
  const Result<void> done = changer_->for_each([&longest](GroupOfNodes& group) -> Result<void> {
    const Result<std::chrono::nanoseconds> left = group.settle();
    if (!left) return left.error();
    longest = std::max(longest, *left);
    return {};
  });
  if (!done) return done.error();
  return longest;
}

Result<void> MembersChange::withdraw() {
  return changer_->for_each([](GroupOfNodes& group) { return group.withdraw(); });
}

}  // namespace quorumlock
