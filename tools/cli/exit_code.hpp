#pragma once

namespace quorumlock::cli {

/// The program's exit codes. 64, 69 and 75 are those of sysexits.h.
enum ExitCode : int {
  done = 0,
  failed = 1,            ///< an error of this machine: a port in use, no more processes
  usage = 64,            ///< a wrong flag, argument or option
  no_quorum = 69,        ///< fewer than a quorum of nodes answered
  not_to_be_had = 75,    ///< held by another, timed out, or not held (extend, release)
  lease_lost = 76,       ///< the lease ended while the command ran
  not_executable = 126,  ///< `run`, as in shells: the command exists but cannot be run
  not_found = 127,       ///< `run`, as in shells: there is no such command
  by_signal = 128,       ///< plus the signal's number
};

}  // namespace quorumlock::cli
