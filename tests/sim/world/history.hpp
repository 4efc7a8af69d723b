#pragma once

#include <iomanip>
#include <ostream>
#include <string>

#include "sim/world/agenda.hpp"

namespace quorumlock::sim {

/// The record of what happens: a line of text for each event, and the first violation, after which
/// the agenda is stopped.
class History {
 public:
  /// `stream` may be null: then no text is written.
  History(Agenda& agenda, std::ostream* stream) : agenda_(agenda), stream_(stream) {}

  [[nodiscard]] bool is_written() const { return stream_ != nullptr; }
  /// Writes one line of the history, if there is a stream for it.
  template <class... Words>
  void write(const Words&... words) {
    if (stream_ == nullptr) return;
    *stream_ << std::fixed << std::setprecision(6)
             << static_cast<double>(agenda_.now().count()) / 1e9 << "  ";
    ((*stream_ << words), ...);
    *stream_ << '\n';
  }
  void report(const std::string& sentence);
  /// The first violation; empty if there was none.
  [[nodiscard]] const std::string& violation() const { return violation_; }

 private:
  Agenda& agenda_;
  std::ostream* const stream_;
  std::string violation_;
};

}  // namespace quorumlock::sim
