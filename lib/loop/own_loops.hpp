#pragma once

namespace quorumlock::detail {

class Runtime;

/// The runtimes of this process that have a loop of their own, so that the test kit can reach them
/// all. From any thread.
namespace own_loops {
void add(Runtime& runtime);
/// Removes a runtime; does nothing if it is not in the list.
void remove(Runtime& runtime);
}  // namespace own_loops

}  // namespace quorumlock::detail
