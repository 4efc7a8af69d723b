#pragma once

#include <string>
#include <utility>

#include <quorumlock/error.hpp>

namespace quorumlock::detail {

/// The error for a request that is refused before anything is sent.
inline Error refusal(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}

}  // namespace quorumlock::detail
