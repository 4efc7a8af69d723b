#pragma once

#include <cstddef>
#include <string>

#include <quorumlock/admin.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/status.hpp>

#include "output.hpp"

namespace quorumlock::cli {

/// The part of a list of locks that a viewer looks at.
struct LocksWindow {
  enum class Order { resource, waiters, held_for, expires_in };
  std::string filter;  ///< only resources and labels with this text; empty: all
  Order order = Order::resource;
  std::size_t from = 0;
  std::size_t count = 100;
};

/// Returns {"error": ...} with the votes, as the commands' documents have it.
Json error_document(const Error& error);

/// {"verdict", "status": as `status --json`, "doctor": as `doctor --json`}, or an error.
Json status_event(const Result<ClusterStatus>& status);
/// {"held", "waiting", "matching", "from", "locks": those in the window, "complete", "leading": how
/// many lead an election, "leaders": the first 100 of them, "ran_out"}, or an error.
Json locks_event(const Result<LockList>& list, const LocksWindow& window, Json ran_out);
/// The document of `inspect --json` without whole owner tokens, or an error with the resource.
Json lock_event(const std::string& resource, const Result<Inspection>& seen);

/// Turns the document of a lock into one for a stream, which is sent again with each change: it has
/// no parts of the nodes, and of each line the first 100 waiters and their number, "in_line".
Json for_a_stream(Json lock);

/// Cuts every owner token in a document of `inspect` to its first eight letters and the label,
/// since anybody with a whole token could release the lock.
Json without_tokens(Json inspection);

}  // namespace quorumlock::cli
