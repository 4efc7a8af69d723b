#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/world/machine.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim {

/// Sees each command that a node executes, and checks how the command has changed the node's keys.
class Observer : Machine {
 public:
  /// The keys of the locks that a vote or a release is about, and the owner that it is for.
  struct Owner {
    std::vector<std::string> keys;
    std::string token;
    bool releases = false;
  };
  /// A key that a lease's own renewal is about.
  struct Renewed {
    std::string key, token;
    bool end_known;     ///< the client knew the node's time, so the node notices a late renewal
    TrueTime before{};  ///< how much longer the owner had the key before the renewal
  };
  /// The owners and keys to look at once a command has been executed.
  struct Expected {
    std::vector<Owner> owners;
    std::vector<Renewed> renewals;
  };

  explicit Observer(World& world);
  /// Called before a node executes this command. after_command() takes the result, and the node's
  /// reply.
  [[nodiscard]] Expected before_command(int node, const Words& words) const;
  void after_command(int node, std::size_t client, const Expected& expected,
                     const std::string& said);
  /// Shows the referee the command that the node has executed last, by this client in the life in
  /// which it connected or, if the client is negative, by an operator.
  void show(int node, int connection, int client, std::size_t life = 0) const;
  /// Looks at the node's counters and its enrolment, which a command may have changed.
  void look_at(int node);

 private:
  [[nodiscard]] TrueTime time_of(int node, const Renewed& one) const;
  void look_at_renewal(int node, const Renewed& one);
  void look_at_owner(int node, std::size_t client, const Owner& owner);
  void look_at_number(int node, const std::string& what, std::uint64_t number);

  std::vector<std::pair<std::string, std::string>> counters_;  ///< all locks, with their counters
  std::vector<std::string> records_;  ///< the enrolment of each node, as last seen
};

}  // namespace quorumlock::sim
