#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <quorumlock/options.hpp>

namespace quorumlock::bench {

/// Changes the nodes' list to that of these options as an operator does, on a thread of its own:
/// announces it, waits until no client with other nodes is connected, decides and settles it, and
/// waits until the clients have enrolled every new node.
class Replacement {
 public:
  explicit Replacement(Options to);
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() { thread_.join(); }

  /// The steps that a change is made of, in their order.
  enum Step { announced, committed, settled, steps };

  [[nodiscard]] bool over() const { return over_; }
  /// The step that was begun last.
  [[nodiscard]] Step step() const { return step_; }
  /// Why the change has failed, once it is over; empty if it has not.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  /// How long the change has taken, once it is over.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void run(const Options& to);

  std::string trouble_;
  double seconds_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<Step> step_ = announced;
  std::thread thread_;
};

}  // namespace quorumlock::bench
