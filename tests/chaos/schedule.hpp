#pragma once

#include <functional>
#include <string>
#include <vector>

#include "chaos/fault.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// Draws from the seed which fault is made at which target and when: every enabled fault in a drawn
/// order, then every one again; those within the assumptions more often. At most a minority of the
/// nodes has a fault at a time, counting nodes whose votes do not count yet and the one that is
/// being replaced, and at most a third of the workers. A change of the list of nodes is followed by
/// another one a few seconds later.
class Schedule {
 public:
  using Say = std::function<void(const std::string&)>;
  Schedule(World world, const Faults& faults, Clock::duration quarantine, Say say);

  /// Heals and makes what is due. Returns when it must be called again at the latest.
  Time step();
  /// Heals everything; no more faults are made.
  void heal_all();
  /// A description of what is broken now.
  [[nodiscard]] std::string now_broken() const;
  [[nodiscard]] const std::vector<FaultSpan>& spans() const { return spans_; }

 private:
  struct Active {
    Fault* fault = nullptr;
    int target = 0;
    std::size_t span = 0;
    Time heal_at{};
    Time free_at{};
    bool healed = false;
  };
  /// The nodes have one lane, changes of their list another, and the workers a third.
  struct Lane {
    std::vector<Fault*> faults;
    std::vector<Fault*> bag;  ///< faults still to be made in this round
    std::vector<Active> active;
    int targets = 0;
    int at_once = 0;
    int least_pause = 0;  ///< between two faults, in ms
    int most_pause = 0;
    Time next{};
  };

  void heal(Active& active);
  /// Whether a node whose fault is over casts votes again, as an observer of all nodes would see
  /// it.
  bool votes_again(const Active& active);
  /// All that is broken among the targets of this lane.
  [[nodiscard]] std::vector<const Active*> broken(const Lane& lane) const;
  bool make_one(Lane& lane);
  bool make(Lane& lane, Fault& fault);

  World world_;
  Clock::duration quarantine_;
  Say say_;
  Lane nodes_;
  Lane list_;
  Lane workers_;
  std::vector<FaultSpan> spans_;
};

}  // namespace quorumlock::chaos
