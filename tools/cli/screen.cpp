#include "screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace quorumlock::cli {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Screen Screen::of_output(bool wide) {
  return of(STDOUT_FILENO, wide);
}

Screen Screen::of(int fd, bool wide) {
  Screen screen;
  if (::isatty(fd) == 0) return screen;
  screen.is_terminal = true;
  screen.colours = variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  winsize size{};
  (void)::ioctl(fd, TIOCGWINSZ, &size);
  if (size.ws_col > 0) screen.columns = size.ws_col;  // 0: the terminal does not know
  if (size.ws_row > 0) screen.rows = size.ws_row;
  if (!wide) screen.width = screen.columns;
  return screen;
}

}  // namespace quorumlock::cli
