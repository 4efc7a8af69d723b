#include "progress.hpp"

#include <unistd.h>

#include <iomanip>
#include <iostream>
#include <sstream>

namespace flash_sale {

using std::chrono::steady_clock;

Progress::Progress() : terminal_(::isatty(STDOUT_FILENO) == 1), started_(steady_clock::now()) {}

void Progress::start() {
  started_ = steady_clock::now();
}

std::string Progress::stamp() const {
  std::ostringstream out;
  const std::chrono::duration<double> passed = steady_clock::now() - started_;
  out << std::fixed << std::setprecision(3) << std::setw(9) << passed.count() << " s  ";
  return out.str();
}

void Progress::event(const std::string& text) {
  clear();
  std::cout << stamp() << text << std::endl;
}

void Progress::status(int part, int whole, const std::string& text) {
  if (!terminal_) {
    if (part * 4 / whole != (part - 1) * 4 / whole) event(text);  // at each quarter
    return;
  }
  constexpr int width = 30;
  const auto done = static_cast<std::size_t>(width * part / whole);
  clear();
  std::cout << stamp() << '[' << std::string(done, '#') << std::string(width - done, '.') << "] "
            << text << std::flush;
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::cout << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace flash_sale
