#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "interruption.hpp"
#include "local/descriptor.hpp"

namespace flash_sale {

/// The processes of a sale, each this very program in another role. They share two pipes: on one
/// they wait for the doors to open, and notice our death by its end; on the other they report. None
/// outlives this object.
class Crowd {
 public:
  explicit Crowd(const Interruption& interruption);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  /// Asks the remaining processes to end, waits a few seconds, then kills them.
  ~Crowd();

  /// Starts a process with these arguments and these nodes in its environment.
  void admit(std::vector<std::string> arguments, const std::string& nodes);
  /// Waits until all processes are ready, then starts all at once. Throws Interrupted, or another
  /// error if a process ended before.
  void open_doors();
  /// Returns the next line from any process, or nothing once all have ended. Throws Interrupted.
  std::optional<std::string> next_line();
  /// After the last line, returns how many processes did not end with exit code 0.
  int failed();

 private:
  void read_more();
  void await(int timeout_ms);
  [[nodiscard]] bool any_ended() const;

  const Interruption& interruption_;
  Descriptor doors_outside_, doors_;
  Descriptor told_, tell_;
  std::vector<pid_t> processes_;
  std::deque<std::string> lines_;
  std::string unfinished_;
  bool ended_ = false;
};

}  // namespace flash_sale
