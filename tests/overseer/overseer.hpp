#pragma once

namespace quorumlock::test {

/// Call it first in main(), before there is a second thread. The program goes on in a process of
/// the same group, below an overseer. When that process ends, or the one that called is killed, the
/// overseer kills everything that was started and still runs, whoever its parent is now. If the
/// overseer is killed, the process that called does so. A test that ctest runs is also killed if
/// ctest ends. The calling process only waits, and ends as the program does.
void oversee();

}  // namespace quorumlock::test
