#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::sim {

/// One command: its name and arguments.
using Words = std::vector<std::string>;
/// A command as a view of words that are stored elsewhere.
using Arguments = std::span<const std::string>;

/// The commands that have arrived on one connection and were not executed yet: bytes go in, and
/// whole commands come out.
class Requests {
 public:
  /// Throws std::runtime_error if the bytes are not RESP arrays of bulk strings.
  void feed(std::string_view bytes);
  [[nodiscard]] std::size_t size() const { return whole_.size(); }
  [[nodiscard]] const Words& front() const { return whole_.front(); }
  Words take();

 private:
  bool take_one(std::string_view& bytes);

  std::string unread_;
  std::deque<Words> whole_;
};

}  // namespace quorumlock::sim
