#pragma once

#include <string>
#include <utility>

#include <quorumlock/error.hpp>

namespace quorumlock::client {

/// Of what the caller asked for, before anything is sent.
inline Error refusal(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}

}  // namespace quorumlock::client
