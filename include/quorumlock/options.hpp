#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

/// exclusive: one holder, who may write. shared: many readers, and no writer beside them.
enum class LockMode { exclusive, shared };

/// fifo: waiters are served in the order they came. unordered: whoever tries at the right moment.
enum class WaitOrder { fifo, unordered };

/// What a node that may have forgotten its locks has to do before its votes count again. automatic:
/// wait for max_ttl, unless it was durable and is; always: wait after every restart; unsafe_never:
/// nothing, so that a restarted node can give a lock away that is held.
enum class Quarantine { automatic, always, unsafe_never };

/// Pauses between the attempts of an unordered wait: at least `delay`, less than `delay + jitter`.
struct RetryOptions {
  std::chrono::nanoseconds delay = std::chrono::milliseconds(50);
  std::chrono::nanoseconds jitter = std::chrono::milliseconds(50);
  bool operator==(const RetryOptions&) const = default;
};

/// What holds for the whole cluster and for every request that does not say otherwise.
///
/// A plain value. Coordinator::create and ::attach check it as a whole (validate()) before anything
/// is sent. The names, defaults and meanings are those of the JSON keys.
class Options {
 public:
  /// From a JSON object, see docs/configuration.md. An unknown key, a wrong type or a bad value is
  /// an Errc::invalid_argument that names the key, the value and what would be right.
  static Result<Options> from_json(std::string_view text);
  /// From a file that holds such an object.
  static Result<Options> from_file(const std::filesystem::path& path);
  /// From the file that QUORUMLOCK_CONFIG names, its nodes replaced by the comma-separated URLs in
  /// QUORUMLOCK_NODES where that is set. An error if neither is.
  static Result<Options> from_env();

  /// The sentence that says what is wrong, where something is. Sends and resolves nothing.
  [[nodiscard]] Result<void> validate() const;

  /// `redis://[user[:password]@]host[:port][/db]` or `unix:///path[?db=N]`; 1 to 32 of them. The
  /// quorum is counted over all of these, reachable or not. Use an odd number: an even one
  /// tolerates no more failures than the odd one below it.
  std::vector<std::string> nodes;
  /// In place of `nodes`: 1 to 64 groups of them, each a quorum of its own, by name (letters,
  /// digits, '.', '_', '-'). A resource belongs to one of them, by the names alone, so that nodes
  /// may be replaced and a name never changed. The same for all clients; docs/scaling.md says how a
  /// group is added.
  std::map<std::string, std::vector<std::string>> groups;

  /// Loop threads of a coordinator that makes its own, 1 to 64, each with connections of its own to
  /// all nodes. A resource is always on the same one. More than one where one core is not enough.
  int loops = 1;

  /// How long a lock outlives its holder. Whole milliseconds, at most max_ttl. A short one frees
  /// a crashed holder's lock sooner, a long one survives longer outages of the quorum.
  std::chrono::nanoseconds ttl = std::chrono::seconds(10);
  /// The greatest ttl that any client of this cluster may ask for. The same for all of them.
  std::chrono::nanoseconds max_ttl = std::chrono::seconds(30);
  /// How long to wait for a lock that is taken; zero is one attempt, `forever` has no limit.
  std::chrono::nanoseconds wait = std::chrono::nanoseconds::zero();
  /// Unset: fifo, or unordered where fencing is off.
  std::optional<WaitOrder> order;

  /// Renew the lease between a quarter and a third into its validity, for as long as it is held.
  bool auto_extend = true;
  /// valid_until() never lies beyond the acquisition plus this. Unset: no limit.
  std::optional<std::chrono::nanoseconds> max_hold;
  /// How many times a lease is renewed by itself. Unset: no limit.
  std::optional<int> max_renewals;
  /// How long before valid_until() the lease's stop_token is requested to stop. Unset: the greater
  /// of 100 ms and a tenth of the ttl.
  std::optional<std::chrono::nanoseconds> stop_margin;

  /// For each command: no answer within this is no vote. Leave it alone: a decision never waits
  /// for it once a quorum has answered.
  std::chrono::nanoseconds node_timeout = std::chrono::milliseconds(500);
  /// For each connection: resolving, connecting and greeting together.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(2);
  /// The greatest relative rate between any node's clock and any client's. Leave it alone: 0.01
  /// tolerates clocks that are each about half a per cent off.
  double drift_factor = 0.01;
  RetryOptions retry;

  /// Fencing tokens (docs/promises.md). Off: Lease::fencing_token() is 0, an acquisition is exactly
  /// SET key token NX PX ttl, and a node that forgot while it stayed connected is noticed at the
  /// next renewal only.
  bool fencing = true;
  /// A release wakes who waits for the lock. Off, for clusters in which nobody ever waits: it then
  /// wakes nobody, and is the server's own compare-and-delete (DELEX, DELIFEQ) on nodes that offer
  /// it. Who waits all the same, in whatever process, finds out by looking: within 1 s, or a pause
  /// of `retry`.
  bool wake = true;
  Quarantine quarantine = Quarantine::automatic;
  /// Put in front of every resource to make the key.
  std::string key_prefix;

  /// Told, in one sentence, of connections made, lost and refused. Runs on the loop's thread and
  /// must not block; with several loops on each of theirs, one at a time. Never given a password.
  /// Unset: silence.
  std::function<void(std::string_view)> log;
};

/// What one request wants otherwise than Options; unset members are as there.
struct LockOptions {
  std::optional<std::chrono::nanoseconds> ttl = std::nullopt;
  std::optional<std::chrono::nanoseconds> wait = std::nullopt;
  std::optional<bool> auto_extend = std::nullopt;
  std::optional<std::chrono::nanoseconds> max_hold = std::nullopt;
  std::optional<int> max_renewals = std::nullopt;
  std::optional<LockMode> mode = std::nullopt;
  std::optional<WaitOrder> order = std::nullopt;
  bool operator==(const LockOptions&) const = default;
};

}  // namespace quorumlock
