#pragma once

#include <stdexcept>

#include "local/descriptor.hpp"

namespace flash_sale {

using quorumlock::local::Descriptor;

/// Thrown if a signal asked us to end, so that every destructor ends what it started.
struct Interrupted : std::runtime_error {
  explicit Interrupted(int which) : std::runtime_error("interrupted"), signal(which) {}
  int signal;
};

/// Turns Ctrl-C and similar signals into a descriptor to poll. One per process.
class Interruption {
 public:
  Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  /// Restores the default action of the signals.
  ~Interruption();

  /// The descriptor is readable once a signal has come.
  [[nodiscard]] int fd() const { return event_.get(); }
  /// Throws Interrupted once a signal has come.
  void check() const;

 private:
  Descriptor event_;
};

}  // namespace flash_sale
