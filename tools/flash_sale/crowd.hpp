#pragma once

#include <sys/types.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "descriptor.hpp"
#include "interruption.hpp"

namespace flash_sale {

/// The processes of a sale, this very program again in another role. They share two pipes: one on
/// which they wait for the doors to open and by whose end they know that we are gone, and one on
/// which they tell. None outlives this object.
class Crowd {
 public:
  explicit Crowd(const Interruption& interruption);
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  /// Asks those that are left to end, gives them a few seconds, then kills them.
  ~Crowd();

  /// Starts one, with these arguments and these nodes in its environment.
  void admit(std::vector<std::string> arguments, const std::string& nodes);
  /// Waits until each has said that it is ready, then lets all go at once. Throws Interrupted, or
  /// where one of them ended before.
  void open_doors();
  /// The next line that any of them said; nothing once all have ended. Throws Interrupted.
  std::optional<std::string> next_line();
  /// After the last line: how many did not end with exit code 0.
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
