#include "config/label.hpp"

#include <unistd.h>

#include <array>

#include "lock/owner_token.hpp"

namespace quorumlock {

std::string default_label() {
  const std::string process = ':' + std::to_string(::getpid());
  std::array<char, 256> name{};  // POSIX: at most 255 bytes
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') name = {"localhost"};
  // The process's number is kept, however long the host's name is.
  const std::string host = std::string(name.data()).substr(0, core::most_label - process.size());
  return core::label_from(host + process);
}

std::string detail::label_of(const Options& options) {
  return options.label ? core::label_from(*options.label) : default_label();
}

}  // namespace quorumlock
