#include "command_path.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

enum class Found { nothing, not_executable, command };

Found look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Found::nothing;
  if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0) return Found::not_executable;
  return Found::command;
}

Failure cannot_execute(const std::string& path) {
  return {ExitCode::not_executable, "not_executable",
          "the command " + path + " cannot be executed: it must be a file that you may execute"};
}

}  // namespace

std::string command_path(const std::string& name) {
  if (name.find('/') != name.npos) {
    switch (look_at(name)) {
      case Found::command: return name;
      case Found::not_executable: throw cannot_execute(name);
      case Found::nothing: break;
    }
    throw Failure(ExitCode::not_found, "not_found", "there is no command " + name);
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable != nullptr ? variable : "/bin:/usr/bin";
  std::string refused;
  while (!name.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string_view directory = rest.substr(0, colon);
    const std::string path = std::string(directory.empty() ? "." : directory) + "/" + name;
    const Found found = look_at(path);
    if (found == Found::command) return path;
    if (found == Found::not_executable && refused.empty()) refused = path;
    if (colon == rest.npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!refused.empty()) throw cannot_execute(refused);
  throw Failure(ExitCode::not_found, "not_found",
                "there is no command \"" + name + "\" in any directory of PATH");
}

}  // namespace quorumlock::cli
