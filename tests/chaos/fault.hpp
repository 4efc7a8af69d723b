#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/members_program.hpp"
#include "chaos/nodes.hpp"
#include "chaos/workers.hpp"

namespace quorumlock::chaos {

using Random = std::mt19937_64;

/// A number in [least, most].
inline int between(Random& random, int least, int most) {
  return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
}

/// The parts of the world that faults act on.
struct World {
  Nodes& nodes;
  Workers& workers;
  MembersProgram& program;
  Random& random;
};

/// The properties of a fault before it is made.
struct FaultTraits {
  std::string name;   ///< its name for --faults
  std::string words;  ///< its description for readers of the page
  Assumption assumption = Assumption::within;
  std::chrono::milliseconds least{0};  ///< its shortest duration
  std::chrono::milliseconds most{0};   ///< its longest duration; zero: it is over at once
  bool of_worker = false;
  bool of_list = false;  ///< changes the list of nodes; its target is the node that leaves
  bool stops_worker = false;
  bool forgets = false;  ///< a node's vote must not count for max_ttl after the fault
  bool alone = false;    ///< breaks more nodes than its target: no other node has a fault meanwhile
};

/// One way to break something, and to repair it again.
class Fault {
 public:
  explicit Fault(FaultTraits traits) : traits_(std::move(traits)) {}
  virtual ~Fault() = default;

  [[nodiscard]] const FaultTraits& traits() const { return traits_; }
  /// Whether the fault can be made there now. One target has one fault at a time.
  [[nodiscard]] virtual bool available(World& world, int target) const;
  /// Makes the fault, and returns details that its name does not give.
  virtual std::string inject(World& world, int target) = 0;
  virtual void heal(World& world, int target);
  /// Whether a fault whose time is up can be healed now; asked again and again until it can.
  virtual bool is_over(World& world, int target);

 private:
  FaultTraits traits_;
};

using Faults = std::vector<std::unique_ptr<Fault>>;

/// The explicit list of all faults.
Faults all_faults();

// The parts of that list.
void add_server_faults(Faults& faults);
void add_network_faults(Faults& faults);
void add_clock_faults(Faults& faults);
void add_worker_faults(Faults& faults);
void add_list_faults(Faults& faults);

}  // namespace quorumlock::chaos
