#pragma once

#include <map>
#include <vector>

#include "sim/world/machine.hpp"

namespace quorumlock::sim {

/// The calls that the users of each client make: when they ask for locks, what they do with the
/// locks that they hold, and when they give these back.
class Users : Machine {
 public:
  using Machine::Machine;
  /// Plans when each client asks for a lock for the first time.
  void begin();
  /// Makes a client ask for a lock, now and again from then on.
  void act(std::size_t number, std::size_t life);
  /// Makes all clients ask for the lock at about the same time, whatever they hold.
  void all_ask();
  Operation& acquire(Client& client, core::Duration wait, bool ordered, bool of_any_key = true);
  /// Only makes the request; the client's next turn sends it.
  Operation& ask(Client& client, core::Duration wait, bool ordered, bool of_any_key);
  /// Makes this request, of which the rest is drawn or set already; the client's next turn sends
  /// it.
  Operation& request(Client& client, Operation one, core::Duration wait, bool ordered);
  /// Notes the names by which the nodes know this client's waiters in a line.
  void name_waiters(const Client& client);
  /// Called when the holder has done its work, or a part of it.
  void use(std::size_t number);
  void give_back(Operation& one);
  void make_reader(Operation& lease);
  void keep_one(const Client& client);
  /// Sets whether users keep the locks that they get from now on, and renew them.
  void keep(bool keeps) { keeps_ = keeps; }

 private:
  void draw_keys(Operation& one);

  bool keeps_ = false;
  /// For each client, its operations that wait in the line, and some that have been answered.
  std::map<std::size_t, std::vector<std::size_t>> waiters_;
};

}  // namespace quorumlock::sim
