#pragma once

#include <map>
#include <memory>
#include <optional>

#include "admin/members_change.hpp"
#include "admin/settlement_wait.hpp"
#include "sim/wall_clock.hpp"

namespace quorumlock::sim {

/// What an operator goes on to settle, by further looks.
struct Settling {
  redis::Membership state;  ///< of the change, or of the list
  std::uint64_t floor;
  std::int64_t since;
  int looks_left = 2;
};

/// An operator, which changes the list of nodes with the library's own redis::MembersChange and
/// redis::SettlementWait. It looks at the nodes one after the other, and acts on a view that may be
/// out of date by then. It may stop for good after any step.
struct Operator {
  std::size_t number = 0;
  redis::NodeNames next;    ///< the list that it wants
  redis::NamedTerms named;  ///< the terms that it wants it to have
  redis::NodeNames others;  ///< further nodes that it looks at
  double rate = 1;          ///< the rate of its clock
  bool reckless = false;    ///< it does not ask whether it may announce or commit
  bool withdraws = false;   ///< it takes back what it finds announced
  int looks_left = 12;      ///< it gives up after this many looks
  redis::SettlementWait wait{0.01};
  std::optional<Settling> settles = {};
  bool over = false;
  std::map<std::string, redis::MembersChange::Node> seen;  ///< see Operators::believe()

  [[nodiscard]] core::Time local(TrueTime now) const {
    const double gained = static_cast<double>(now.count()) * (rate - 1);
    return core::Time(std::chrono::hours(1) + now +
                      core::Duration(static_cast<core::Duration::rep>(gained)));
  }
};

/// An operator's view of the nodes, from one look at them.
struct Look {
  std::size_t by;
  std::vector<int> servers;
  std::vector<redis::MembersChange::Node> nodes;
  core::Time begun;
};

}  // namespace quorumlock::sim
