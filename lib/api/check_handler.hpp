#pragma once

#include <stdexcept>
#include <string>

#include <quorumlock/handler.hpp>

namespace quorumlock::detail {

/// Throws std::invalid_argument if the handler of `call` is empty.
template <class... Args>
void check_handler(const detail::Handler<Args...>& handler, const char* call) {
  if (handler) return;
  throw std::invalid_argument(std::string("cannot ") + call +
                              ": the handler is empty: give one that can be called");
}

}  // namespace quorumlock::detail
