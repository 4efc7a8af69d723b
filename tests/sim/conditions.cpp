#include "sim/conditions.hpp"

namespace quorumlock::sim {
namespace {

constexpr std::string_view out_of_memory_error =
    "OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::string_view read_only_error =
    "READONLY You can't write against a read only replica.";
constexpr std::string_view cannot_persist_error =
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
    "disk. Commands that may modify the data set are disabled, because this instance is configured "
    "to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error "
    "option). "
    "Please check the Redis logs for details about the RDB error.";
constexpr std::string_view loading_error = "LOADING Redis is loading the dataset in memory";
constexpr std::string_view busy_error =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";

std::string_view write_refusal(const Conditions& now, bool in_script) {
  // If both conditions hold, Redis reports a different one in a script than outside of it.
  if (now.replica && (in_script || !now.cannot_persist)) return read_only_error;
  return now.cannot_persist ? cannot_persist_error : "";
}

bool refuses_growth(const Conditions& now) {
  // A replica leaves the limit of its memory to its master.
  return now.out_of_memory && !now.replica;
}

}  // namespace

std::string_view Conditions::refusal(const Command& command) const {
  if (busy) return command.is(Command::without_auth) ? "" : busy_error;
  if (command.is(Command::grows) && refuses_growth(*this)) return out_of_memory_error;
  if (command.is(Command::says_health) && cannot_persist) return cannot_persist_error;
  const std::string_view no_write =
      command.is(Command::writes) ? write_refusal(*this, false) : std::string_view();
  if (!no_write.empty()) return no_write;
  return loading && !command.is(Command::while_loading) ? loading_error : "";
}

std::string_view Conditions::refusal_of_script() const {
  const std::string_view no_write = write_refusal(*this, false);
  if (!no_write.empty()) return no_write;
  return refuses_growth(*this) ? out_of_memory_error : "";
}

Refusals Conditions::in_script() const {
  return {write_refusal(*this, true), refuses_growth(*this) ? out_of_memory_error : ""};
}

}  // namespace quorumlock::sim
