#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <quorumlock/result.hpp>

namespace quorumlock::detail {

/// The error for a request that is refused before anything is sent.
inline Error refusal(std::string sentence) {
  return {Errc::invalid_argument, std::move(sentence)};
}

/// The error for a file that cannot be read, with the kernel's reason. A shortage of this machine
/// is not the configuration's fault.
inline Error unreadable(int error, std::string sentence) {
  if (error == ENFILE) error = EMFILE;
  if (error != EMFILE && error != ENOMEM) return refusal(std::move(sentence));
  return {std::error_code(error, std::generic_category()), std::move(sentence)};
}

}  // namespace quorumlock::detail
