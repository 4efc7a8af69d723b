#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace quorumlock::local {

/// A new directory under the system's temporary one. The destructor removes it.
class TemporaryDirectory {
 public:
  /// Makes a directory NAME-XXXXXX. Throws std::system_error.
  explicit TemporaryDirectory(const std::string& name = "quorumlock") {
    std::string path = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
    if (::mkdtemp(path.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "cannot make the directory " + path);
    }
    path_ = path;
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace quorumlock::local
