#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock::tls {

/// What the files of a TlsOptions contain. Reading them may block without end, so it belongs on a
/// thread that nobody waits for. OpenSSL has no part in it, since it may not be used by a thread
/// that is still there when the process ends.
class Files {
 public:
  /// Whether these options name files. Without any, the system's authorities are trusted.
  static bool are_named_by(const TlsOptions& options);
  /// Reads the files. Returns `last` if it was read without an error and they have not changed.
  static std::shared_ptr<const Files> read(const TlsOptions& options,
                                           std::shared_ptr<const Files> last = nullptr);
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  [[nodiscard]] bool are_as(const Files& other) const { return stamps_ == other.stamps_; }
  /// The option that cannot be read, and why.
  [[nodiscard]] const std::optional<Error>& trouble() const { return trouble_; }
  [[nodiscard]] const std::string& ca_file() const { return ca_file_; }
  [[nodiscard]] const std::vector<std::string>& ca_dir() const { return ca_dir_; }
  [[nodiscard]] const std::string& cert_file() const { return cert_file_; }
  [[nodiscard]] const std::string& key_file() const { return key_file_; }

 private:
  /// The system's facts about a file or directory. They change when it is written or replaced.
  struct Stamp {
    dev_t device = 0;
    ino_t number = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0, changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 4>;

  Files() = default;
  static Stamp stamp_of(const std::optional<std::string>& path);
  static Stamps stamps_of(const TlsOptions& options);
  void read_one(const char* option, const std::optional<std::string>& path, std::string& into);
  void read_directory(const std::string& path);

  Stamps stamps_;
  std::optional<Error> trouble_;
  std::string ca_file_, cert_file_, key_file_;
  std::vector<std::string> ca_dir_;
};

/// "tls.OPTION is "PATH": ", with which errors about a file begin.
std::string named(const char* option, const std::string& path);

}  // namespace quorumlock::tls
