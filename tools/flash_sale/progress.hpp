#pragma once

#include <chrono>
#include <string>

namespace flash_sale {

/// Prints events as they happen, a line each. A status line is overwritten on a terminal, and
/// otherwise printed now and then.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Restarts the clock.
  void start();
  void event(const std::string& text);
  /// Reports that `part` of `whole` is done.
  void status(int part, int whole, const std::string& text);
  /// Removes the status line.
  void clear();

 private:
  [[nodiscard]] std::string stamp() const;

  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace flash_sale
