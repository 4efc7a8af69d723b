#include "loop/password_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "config/quoted.hpp"
#include "config/refusal.hpp"
#include "uv/descriptor.hpp"

namespace quorumlock::detail {
namespace {

/// Far longer than any token, and short enough to be read at once.
constexpr std::size_t longest_password = std::size_t{64} << 10;

}  // namespace

Result<redis::Secret> read_password(const std::string& path) {
  const auto failed = [&](const std::string& why) {
    return refusal("its password_file " + detail::quoted(path) + " " + why);
  };
  const auto unreadable = [&](int error) {
    return failed("cannot be read: " + std::generic_category().message(error));
  };
  // A pipe without a writer must not block us: anything that is not a file is refused below.
  const uv::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return unreadable(errno);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return unreadable(errno);
  if (!S_ISREG(about.st_mode)) return failed("is not a file");
  std::array<char, longest_password + 1> text;
  std::size_t size = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return unreadable(errno);
    size += static_cast<std::size_t>(count);
    if (count == 0 || size == text.size()) break;
  }
  std::string password(text.data(), size);
  ::explicit_bzero(text.data(), size);
  if (password.ends_with('\n')) password.pop_back();
  if (password.ends_with('\r')) password.pop_back();
  redis::Secret secret(std::move(password));
  if (size > longest_password) return failed("is larger than 64 KiB: it must be a password");
  if (secret.empty()) return failed("is empty: write the password into it");
  return secret;
}

}  // namespace quorumlock::detail
