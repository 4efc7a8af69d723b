// Fencing of a file, to be copied: its first line is the fencing token of its last writer.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace fencing {

/// A file that a lock protects, on a local file system. Any number of objects, threads and
/// processes may use the same path. Errors are std::system_error.
class File {
 public:
  struct Content {
    std::string body;
    std::uint64_t fence = 0;  ///< 0: not written yet
  };

  explicit File(std::filesystem::path path) : path_(std::move(path)) {}

  /// Call this before reading anything: from here on all former holders are refused. Returns false
  /// if a later holder was here: the lock is no longer yours.
  bool check(std::uint64_t fence) {
    const Turn turn(path_);
    const Content now = read();
    if (!may(fence, now.fence)) return false;
    if (now.fence != fence) replace({now.body, fence});
    return true;
  }

  /// Returns false if refused; the file is then unchanged.
  bool write(std::string_view body, std::uint64_t fence) {
    const Turn turn(path_);
    if (!may(fence, read().fence)) return false;
    replace({std::string(body), fence});
    return true;
  }

  /// Never returns half a version: a write replaces the whole file.
  [[nodiscard]] Content read() const {
    std::ifstream file(path_, std::ios::binary);
    Content content;
    if (!file) {
      if (errno == ENOENT) return content;
      fail("cannot read", path_);
    }
    if (!(file >> content.fence) || file.get() != '\n') {
      fail("has no fencing token in its first line:", path_, EINVAL);
    }
    std::ostringstream rest;
    if (file.peek() != std::ifstream::traits_type::eof()) rest << file.rdbuf();
    content.body = std::move(rest).str();
    return content;
  }

 private:
  [[noreturn]] static void fail(const char* what, const std::filesystem::path& path,
                                int error = errno) {
    throw std::system_error(error, std::generic_category(), what + (" " + path.string()));
  }

  class Descriptor {
   public:
    Descriptor(const std::filesystem::path& path, int flags)
        : number_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
      if (number_ < 0) fail("cannot open", path);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(number_); }
    [[nodiscard]] int number() const { return number_; }

   private:
    int number_;
  };

  /// Makes the comparison and the write one step, by a lock on a second file, which stays: the
  /// first is a new file after each write. The kernel releases the lock when its holder dies.
  class Turn {
   public:
    explicit Turn(const std::filesystem::path& path)
        : descriptor_(path.string() + ".lock", O_RDWR | O_CREAT) {
      while (::flock(descriptor_.number(), LOCK_EX) != 0) {
        if (errno != EINTR) fail("cannot lock", path);
      }
    }

   private:
    Descriptor descriptor_;
  };

  static bool may(std::uint64_t fence, std::uint64_t stored) {
    return fence != 0 && fence >= stored;  // 0: fencing is off
  }

  /// Syncs the content before the rename, and the rename before returning.
  void replace(const Content& content) {
    const std::filesystem::path next = path_.string() + ".new";
    const std::string bytes = std::to_string(content.fence) + '\n' + content.body;
    {
      const Descriptor file(next, O_WRONLY | O_CREAT | O_TRUNC);
      for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t more = ::write(file.number(), bytes.data() + done, bytes.size() - done);
        if (more < 0 && errno != EINTR) fail("cannot write", next);
        if (more > 0) done += static_cast<std::size_t>(more);
      }
      if (::fsync(file.number()) != 0) fail("cannot write", next);
    }
    if (::rename(next.c_str(), path_.c_str()) != 0) fail("cannot replace", path_);
    const std::filesystem::path parent = std::filesystem::absolute(path_).parent_path();
    if (::fsync(Descriptor(parent, O_RDONLY | O_DIRECTORY).number()) != 0) {
      fail("cannot write", parent);
    }
  }

  std::filesystem::path path_;
};

}  // namespace fencing
