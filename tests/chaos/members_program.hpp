#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "local/descriptor.hpp"

namespace quorumlock::chaos {

using local::Descriptor;
using local::fail_with_errno;

/// Writes a configuration with these nodes for the program and for workers. The file is replaced as
/// a whole, so that a reader never finds half of it.
void write_configuration(const std::filesystem::path& file, const std::vector<std::string>& nodes,
                         std::chrono::milliseconds ttl, std::chrono::milliseconds max_ttl);

/// `quorumlock members`, as an operator runs it: the real program, in a process of its own, one at
/// a time. The destructor kills it.
class MembersProgram {
 public:
  /// `directory`: for its configuration and for what it says.
  MembersProgram(std::filesystem::path directory, std::chrono::milliseconds ttl,
                 std::chrono::milliseconds max_ttl);
  MembersProgram(const MembersProgram&) = delete;
  MembersProgram& operator=(const MembersProgram&) = delete;
  ~MembersProgram() { kill(); }

  /// Starts `quorumlock members WORDS...` with these nodes in its configuration.
  void start(const std::vector<std::string>& nodes, const std::vector<std::string>& words);
  /// Returns false once the program has ended, which this call finds out.
  bool running();
  /// Sends SIGKILL: it leaves everything as it is.
  void kill();
  /// The exit code of the last run that has ended, 128 + N if signal N ended it.
  [[nodiscard]] int code() const { return code_; }
  /// How often it was started.
  [[nodiscard]] int runs() const { return runs_; }
  /// The standard error of the last run that failed, followed by that of the last run, which may
  /// just have begun.
  [[nodiscard]] std::string said() const;

 private:
  [[nodiscard]] std::filesystem::path log() const { return directory_ / "members.log"; }
  [[nodiscard]] std::string text_of_log() const;
  void ended(int status);

  std::filesystem::path directory_;
  std::chrono::milliseconds ttl_, max_ttl_;
  pid_t pid_ = -1;
  int code_ = -1;
  int runs_ = 0;
  std::string failure_;  ///< what the last run that failed has said
};

}  // namespace quorumlock::chaos
