#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/detail/node_questions.hpp>

#include "admin/members_change.hpp"
#include "admin/settlement_wait.hpp"

namespace quorumlock::detail {

/// The list of nodes of one quorum group, and connections to all nodes concerned: see
/// MembersChange. All calls are blocking.
class GroupOfNodes {
 public:
  GroupOfNodes(std::string name, Options options, Nodes leaving);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Connects to the nodes of the new list, and to those that leave.
  Result<void> connect();
  MembersReport report();
  Result<void> check();
  Result<void> announce();
  Result<void> commit(bool force);
  Result<std::chrono::nanoseconds> settle();
  Result<void> withdraw();
  std::vector<Finding> bad_counters();

 private:
  /// What is known of counters on some nodes. Fencing counters grow in one order, so one number
  /// that is above all of them does for all; the last periods that are done (Coordinator::once) are
  /// numbers of their names each.
  struct Floor {
    struct Period {
      std::uint64_t number = 0;
      std::int64_t life_ms = 0;
    };
    std::uint64_t number = 0;
    std::int64_t since = 0;
    bool by_clock = false;  ///< some counters cannot be read, or are no numbers
    std::map<std::string, Period> periods = {};
    std::map<std::string, std::uint64_t> beyond = {};  ///< the counters that no clock explains
    void add(const Floor& other);
  };
  Result<void> look_with(const Options& options);
  std::vector<NodeAnswer> ask(std::vector<NodeQuestion> questions);
  redis::MembersChange look_once();
  std::optional<Error> refused_by_clients(const redis::MembersChange& change);
  template <class Visit>
  void each_client_list(const redis::MembersChange& change, Visit&& visit);
  bool end_old_connections(const redis::MembersChange& change);
  Result<void> make(const std::vector<redis::MembersChange::Step>& steps,
                    const redis::MembersChange& change, const char* what);
  Result<Floor> read_floor(const redis::MembersChange& change, std::vector<int> sources, int needed,
                           std::uint64_t known = 0);
  Result<std::vector<std::int64_t>> check_sources(const redis::MembersChange& change,
                                                  const std::vector<int>& sources);
  bool read_counters(int node, Floor& floor);
  Result<std::chrono::nanoseconds> end_settling(redis::MembersChange change, Floor floor);
  std::optional<Error> note_periods(const Floor& floor, int node);

  const std::string name_;
  Options options_;  ///< `nodes`: those of the new list, then those that leave
  const Nodes leaving_;
  const std::size_t next_count_;
  std::optional<Coordinator> coordinator_;
  std::vector<ListedNode> nodes_;
  redis::SettlementWait wait_;
  // As of the last look:
  std::int64_t clock_ = 0;  ///< the TIME that N - q + 1 nodes have passed, in us; 0: fewer tell it
  std::uint64_t counts_ = 0;  ///< see MembersChange
};

}  // namespace quorumlock::detail
