#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/members.hpp>

#include "admin/questions.hpp"
#include "api/router.hpp"
#include "redis/members_change.hpp"
#include "redis/settlement_wait.hpp"

namespace quorumlock::detail {

/// The list of nodes of one quorum group, and connections to all nodes concerned: see
/// MembersChange. All calls are blocking.
class GroupOfNodes {
 public:
  GroupOfNodes(std::string name, Options options, Nodes leaving);
  ~GroupOfNodes();
  GroupOfNodes(const GroupOfNodes&) = delete;
  GroupOfNodes& operator=(const GroupOfNodes&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Connects to the nodes of the new list, and to those that leave.
  Result<void> connect();
  MembersReport report();
  Result<void> check();
  Result<void> announce();
  Result<void> commit(bool force);
  Result<std::chrono::nanoseconds> settle();
  Result<void> withdraw();

 private:
  struct Floor {
    std::uint64_t number = 0;
    std::int64_t since = 0;
  };
  [[nodiscard]] const Cluster& cluster() const { return router_->groups().front()->cluster(); }
  std::vector<Questions::Answer> ask(std::vector<Questions::Question> questions);
  redis::MembersChange look_once();
  std::optional<Error> refused_by_clients(const redis::MembersChange& change);
  template <class Visit>
  void each_client_list(const redis::MembersChange& change, Visit&& visit);
  void end_old_connections();
  Result<void> make(const std::vector<redis::MembersChange::Step>& steps,
                    const redis::MembersChange& change, const char* what);
  Result<Floor> read_floor(const redis::MembersChange& change);
  Result<std::chrono::nanoseconds> end_settling(redis::MembersChange change, const Floor& floor);
  bool read_counters(int node, std::uint64_t& greatest);

  const std::string name_;
  Options options_;  ///< `nodes`: those of the new list, then those that leave
  const Nodes leaving_;
  const std::size_t next_count_;
  std::shared_ptr<Router> router_;
  redis::SettlementWait wait_;
};

}  // namespace quorumlock::detail
