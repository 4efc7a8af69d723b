#pragma once

#include <chrono>
#include <string>

namespace flash_sale {

/// What happens, as it happens: a line for each event, and under them on a terminal one that is
/// written over, elsewhere one every now and then.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  /// Starts to count the time anew.
  void start();
  void event(const std::string& text);
  /// `part` of `whole` is done.
  void status(int part, int whole, const std::string& text);
  /// Takes the written-over line away.
  void clear();

 private:
  [[nodiscard]] std::string stamp() const;

  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace flash_sale
