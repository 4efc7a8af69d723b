#include "tls/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "uv/descriptor.hpp"

namespace quorumlock::tls {
namespace {

/// All authorities of a system together have about 200 KiB.
constexpr std::size_t largest_file = std::size_t{16} << 20;

/// Reads a whole file; returns why that cannot be done, or nothing.
std::string why_not_read(const std::string& path, std::string& into) {
  const auto cannot = [](int error) {
    return "it cannot be read: " + std::generic_category().message(error);
  };
  const uv::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot(errno);
  std::array<char, 4096> piece;
  while (into.size() <= largest_file) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot(errno);
    if (count == 0) return {};
    into.append(piece.data(), static_cast<std::size_t>(count));
  }
  return "it is larger than 16 MiB";
}

/// Whether this is a name such as 9d66eef0.0, by which OpenSSL finds certificates.
bool is_a_hash(std::string_view name) {
  return name.size() > 9 && name[8] == '.' && name.find_first_not_of("0123456789abcdef") == 8;
}

}  // namespace

std::string named(const char* option, const std::string& path) {
  return std::string("tls.") + option + " is \"" + path + "\": ";
}

Files::~Files() {
  ::explicit_bzero(key_file_.data(), key_file_.size());
}

bool Files::are_named_by(const TlsOptions& options) {
  return options.ca_file || options.ca_dir || options.cert_file || options.key_file;
}

Files::Stamp Files::stamp_of(const std::optional<std::string>& path) {
  struct stat is {};
  if (!path || ::stat(path->c_str(), &is) != 0) return {};
  const auto ns = [](const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; };
  return {is.st_dev, is.st_ino, is.st_size, ns(is.st_mtim), ns(is.st_ctim)};
}

Files::Stamps Files::stamps_of(const TlsOptions& options) {
  return {stamp_of(options.ca_file), stamp_of(options.ca_dir), stamp_of(options.cert_file),
          stamp_of(options.key_file)};
}

std::shared_ptr<const Files> Files::read(const TlsOptions& options,
                                         std::shared_ptr<const Files> last) {
  // The stamps are taken before the files are read: if a file is replaced meanwhile, the next look
  // sees that.
  const Stamps stamps = stamps_of(options);
  if (last != nullptr && !last->trouble_ && last->stamps_ == stamps) return last;
  const std::shared_ptr<Files> files(new Files);
  files->stamps_ = stamps;
  files->read_one("ca_file", options.ca_file, files->ca_file_);
  if (options.ca_dir) files->read_directory(*options.ca_dir);
  files->read_one("cert_file", options.cert_file, files->cert_file_);
  files->read_one("key_file", options.key_file, files->key_file_);
  return files;
}

void Files::read_one(const char* option, const std::optional<std::string>& path,
                     std::string& into) {
  if (!path || trouble_) return;
  if (const std::string why = why_not_read(*path, into); !why.empty()) {
    trouble_ = Error(Errc::invalid_argument, named(option, *path) + why);
  }
}

/// Reads all certificates of a directory that OpenSSL would find there. It would read one when a
/// handshake needs that, which is on the loop.
void Files::read_directory(const std::string& path) {
  if (trouble_) return;
  const auto refuse = [&](const std::string& why) {
    trouble_ = Error(Errc::invalid_argument, named("ca_dir", path) + why);
  };
  DIR* const dir = ::opendir(path.c_str());
  if (dir == nullptr) {
    return refuse("it cannot be read: " + std::generic_category().message(errno));
  }
  while (const dirent* const entry = ::readdir(dir)) {
    if (!is_a_hash(entry->d_name)) continue;
    // OpenSSL passes over what it cannot read.
    if (std::string text; why_not_read(path + '/' + entry->d_name, text).empty()) {
      ca_dir_.push_back(std::move(text));
    }
  }
  ::closedir(dir);
  if (!ca_dir_.empty()) return;
  refuse(
      "it has no certificate under its hash: run openssl rehash on it, or name one file by "
      "tls.ca_file");
}

}  // namespace quorumlock::tls
