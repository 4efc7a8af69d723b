#pragma once

#include <map>
#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The calls that the users of each client make: when they ask for locks, what they do with those
/// that they hold, and when they give them back.
class Users : Machine {
 public:
  using Machine::Machine;
  /// Plans when each client does something for the first time.
  void begin();
  /// Now and then a client does something.
  void act(std::size_t number, std::size_t life);
  /// Each client asks, at about the same time and whatever it holds.
  void all_ask();
  Operation& acquire(Client& client, core::Duration wait, bool ordered, bool of_any_key = true);
  /// Makes the request alone; the client's next turn sends it.
  Operation& ask(Client& client, core::Duration wait, bool ordered, bool of_any_key);
  /// Notes the names by which the nodes know this client's waiters in a line.
  void name_waiters(const Client& client);
  /// The holder has done its work, or a part of it.
  void use(std::size_t number);
  void give_back(Operation& one);
  void make_reader(Operation& lease);
  /// Whether users hold what they get from now on, and renew it.
  void keep(bool keeps) { keeps_ = keeps; }

 private:
  void draw_keys(Operation& one);

  bool keeps_ = false;
  /// By client: its operations that wait in the line, and some that have been answered.
  std::map<std::size_t, std::vector<std::size_t>> waiters_;
};

}  // namespace quorumlock::sim
