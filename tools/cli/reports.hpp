#pragma once

#include <string>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/inspection.hpp>

#include "output.hpp"

namespace quorumlock::cli {

// The documents of `locks`, `doctor` and `inspect`, which `serve` sends, too. That of `status` is
// in status_table.hpp.
/// The waiters of all locks; the permits of a semaphore share a line.
int waiting_in(const LockList& list);
/// How many nodes were asked for the list.
int nodes_asked(const LockList& list);
/// Returns a line of headings, and a line for each of these locks on this number of nodes.
std::string locks_table(const std::vector<HeldLock>& locks, int nodes, std::size_t width);
/// Some of the locks for a screen that may be too short for all: the most waited for, then the
/// longest held.
std::vector<HeldLock> most_wanted(const LockList& list, std::size_t most);
inline constexpr const char* most_wanted_first = "; the most waited for, then the longest held:";
/// Returns "2 held, 3 waiting".
std::string counts_of(const LockList& list);
Json held_lock_json(const HeldLock& lock);
Json locks_json(const LockList& list);
Json findings_json(const std::vector<Finding>& findings);
/// Returns the number of nodes that answered whether they hold the key.
int answered(const Inspection& seen);
/// Returns a sentence about all nodes together.
std::string verdict(const Inspection& seen);
/// The same with eight digits of each token, for a terminal: "1f0c2ab4...@web-3:812".
Inspection with_short_tokens(Inspection seen);
/// Returns the verdict, a line for each node, and the line of waiters.
std::string table(const Inspection& seen);
/// The document of `inspect`, with whole owner tokens.
Json inspection_json(const Inspection& seen);

}  // namespace quorumlock::cli
