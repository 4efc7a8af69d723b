#pragma once

#include <cstddef>

#include "table.hpp"

namespace quorumlock::cli {

/// What standard output or standard error is shown on. A file or a pipe has no limits and no
/// colours.
struct Screen {
  /// Looks at standard output. The user may change the size of a terminal at any time. With `wide`,
  /// lines may be longer than the terminal is wide.
  static Screen of_output(bool wide = false);
  static Screen of(int fd, bool wide = false);

  bool is_terminal = false;
  bool colours = false;  ///< not if NO_COLOR is set, or TERM is dumb
  std::size_t columns = unlimited;
  std::size_t rows = unlimited;
  std::size_t width = unlimited;  ///< of the lines that are written for it
};

}  // namespace quorumlock::cli
