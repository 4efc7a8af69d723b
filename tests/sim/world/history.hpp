#pragma once

#include <iomanip>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "sim/world/agenda.hpp"
#include "sim/world/draw.hpp"

namespace quorumlock::sim {

/// The one violation that is looked for: see `simulate --rules`.
struct Sought {
  std::string words;        ///< which its sentence has; empty: any violation is looked for
  std::optional<Fault> by;  ///< the promise is demanded although this fault breaks what it rests on
  [[nodiscard]] bool is(std::string_view sentence) const {
    return sentence.find(words) != sentence.npos;
  }
};
inline Sought sought;

/// The record of what happens: a line of text for each event, and the first violation, after which
/// the agenda is stopped. A violation that is not the one looked for is a line of text only.
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
