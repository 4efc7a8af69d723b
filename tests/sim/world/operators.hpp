#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "sim/world/machine.hpp"
#include "sim/world/operator.hpp"

namespace quorumlock::sim {

/// The operators that change the list of nodes, and what each of them does after a look.
class Operators : Machine {
 public:
  using Machine::Machine;
  /// Plans the operators: as many at one time as the draw has, each followed by another one. Two
  /// operators with a plan begin at the same moment.
  void plan();
  /// The number of operators so far.
  [[nodiscard]] std::size_t count() const { return operators_.size(); }
  /// Sends a node its part of a step, which arrives after this time.
  void send_step(const Look& look, const redis::MembersChange::Step& step, const char* what,
                 TrueTime span);
  [[nodiscard]] std::uint64_t greatest_number(const Look& look, std::size_t node) const;
  /// The steps that settle the list with this floor, after the counters were read of nodes that
  /// need that.
  [[nodiscard]] std::vector<redis::MembersChange::Step> settling(const Look& look,
                                                                 const redis::MembersChange& change,
                                                                 std::uint64_t floor,
                                                                 std::int64_t since = 0) const;
  /// The steps with which the other nodes take over what some have settled.
  [[nodiscard]] std::vector<redis::MembersChange::Step> settling_as_others(
      const Look& look, const redis::MembersChange& change) const;
  void run(int node, const Words& words);

 private:
  /// Whether an operator reaches a node (if not, it is deaf), and until when that holds.
  struct Reach {
    TrueTime until{};
    bool deaf = false;
  };
  void plan_operator();
  void begin(redis::NodeNames next);
  [[nodiscard]] redis::NamedTerms draw_terms();
  void end(Operator& one, const char* why);
  void look_at_nodes(std::size_t number);
  static void believe(Operator& one, Look& look);
  void look_again(Operator& one, TrueTime span);
  void has_looked(const Look& look);
  void settle(const Look& look, const redis::MembersChange& change, std::uint64_t floor,
              std::int64_t since);
  /// The greatest floor of the nodes that have settled the list, and its beginning.
  static std::pair<std::uint64_t, std::int64_t> settled_floor(const Look& look,
                                                              const redis::MembersChange& change);
  bool goes_on_settling(const Look& look, const redis::MembersChange& change);
  void list_settled(Operator& one);
  bool end_old_connections(const Look& look, const redis::MembersChange& change);
  bool is_out_of_reach(std::size_t by, int server, Step step);
  void make(const Look& look, const std::vector<redis::MembersChange::Step>& steps,
            const char* what);
  void read_counters(const Look& look, const redis::MembersChange& change);

  std::deque<Operator> operators_;
  /// Each operator's reach: by whether the operator is the second one, and by node.
  std::map<std::pair<bool, int>, Reach> reach_;
};

}  // namespace quorumlock::sim
