#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <quorumlock/clock.hpp>
#include <quorumlock/event.hpp>
#include <quorumlock/export.hpp>
#include <quorumlock/node_options.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/tls_options.hpp>

namespace quorumlock {

namespace detail {

// With _GLIBCXX_DEBUG the standard library's containers have another layout, and so have the types
// below. A program that is compiled otherwise than the library does not link: each of its sources
// refers to the one of these names that the library must have.
#ifdef _GLIBCXX_DEBUG
QUORUMLOCK_EXPORT extern const bool library_is_built_with_GLIBCXX_DEBUG;
[[gnu::used]] static const bool* const same_containers = &library_is_built_with_GLIBCXX_DEBUG;
#else
QUORUMLOCK_EXPORT extern const bool library_is_built_without_GLIBCXX_DEBUG;
[[gnu::used]] static const bool* const same_containers = &library_is_built_without_GLIBCXX_DEBUG;
#endif

}  // namespace detail

/// exclusive: one holder, which may write. shared: many readers at once, and no writer.
enum class LockMode { exclusive, shared };

/// fifo: waiters are served in the order of their arrival. unordered: the waiter that tries at the
/// right moment gets the lock, but not while others wait in order.
enum class WaitOrder { fifo, unordered };

/// The pause between two attempts of an unordered wait: at least `delay`, less than `delay +
/// jitter`. After an attempt that too few nodes could take part in, it is at least 2 ms.
struct RetryOptions {
  std::chrono::nanoseconds delay = std::chrono::milliseconds(50);   ///< the least pause
  std::chrono::nanoseconds jitter = std::chrono::milliseconds(50);  ///< the greatest random part
  bool operator==(const RetryOptions&) const = default;
};

/// A user and password for a node, as Options::credentials returns them.
struct Credentials {
  std::string user;      ///< empty: the default user
  std::string password;  ///< never logged
  /// For how long from now on the node accepts the password, which may be a token. Unset: without
  /// end.
  std::optional<std::chrono::nanoseconds> valid_for = std::nullopt;
};

/// A function that returns the credentials of a node, whose name it is given, and perhaps a
/// std::stop_token after it, as the function of a std::jthread may be.
class CredentialsCallback {
 public:
  /// None.
  CredentialsCallback() = default;
  /// None.
  CredentialsCallback(std::nullptr_t) {}  // NOLINT: implicit, as for a std::function
  /// Takes a function of the node's name and a std::stop_token.
  template <class F>
  requires(!std::is_same_v<F, CredentialsCallback> &&
           std::is_invocable_r_v<Result<Credentials>, F&, std::string_view, std::stop_token>)
      CredentialsCallback(F function)
      : function_(std::move(function)) {}  // NOLINT: implicit
  /// Takes a function of the node's name.
  template <class F>
  requires std::is_invocable_r_v<Result<Credentials>, F&, std::string_view> CredentialsCallback(
      F function)  // NOLINT: implicit
      : function_([function = std::move(function)](std::string_view node, std::stop_token) mutable {
          return Result<Credentials>(function(node));
        }) {}

  /// Whether there is a function.
  explicit operator bool() const { return static_cast<bool>(function_); }
  /// Calls the function, for this node.
  Result<Credentials> operator()(std::string_view node, std::stop_token stop) const {
    return function_(node, std::move(stop));
  }

 private:
  std::function<Result<Credentials>(std::string_view, std::stop_token)> function_;
};

/// The options of a coordinator: those of its cluster, and the defaults of every request.
///
/// A plain value. Coordinator::create and Coordinator::attach check it as a whole (validate())
/// before anything is sent. The names, defaults and meanings are those of the JSON keys.
class QUORUMLOCK_EXPORT Options {
 public:
  /// Reads options from a JSON object, see docs/configuration.md. An unknown key, a wrong type or a
  /// bad value is an Errc::invalid_argument that names the key, the value and what would be right.
  static Result<Options> from_json(std::string_view text);
  /// Reads options from a file that holds such an object.
  static Result<Options> from_file(const std::filesystem::path& path);
  /// Reads options from the file that QUORUMLOCK_CONFIG names, with its nodes replaced by the
  /// comma-separated URLs in QUORUMLOCK_NODES if that is set. An error if neither variable is set.
  static Result<Options> from_env();

  /// Checks all options together. The error says in one sentence what is wrong. Sends nothing and
  /// resolves no host name.
  [[nodiscard]] Result<void> validate() const;
  /// How long a lease of this ttl is valid, counted from the moment when it was asked for: ttl -
  /// (ttl x drift_factor + 2 ms), the formula of Redis's page on distributed locks. Negative if the
  /// margin is more than the ttl.
  [[nodiscard]] std::chrono::nanoseconds validity(std::chrono::nanoseconds of_ttl) const;

  /// 1 to 32 nodes, each as a URL or with a name. The quorum is counted over all of these,
  /// reachable or not. Use an odd number: an even one tolerates no more failures than the odd one
  /// below it.
  Nodes nodes;
  /// In place of `nodes`: 1 to 64 groups of nodes, each a quorum of its own, by name (letters,
  /// digits, '.', '_', '-'). The group of a resource depends on the names of the groups alone, so
  /// nodes may be replaced, but a name must never change. All clients need the same groups;
  /// docs/scaling.md says how to add one.
  std::map<std::string, Nodes> groups;

  /// How many loop threads Coordinator::create starts, 1 to 64, each with connections of its own to
  /// all nodes. A resource is always on the same loop. Use more than one if one core is not enough.
  int loops = 1;

  /// How long a lock outlives its holder. Whole milliseconds, at most max_ttl. A short ttl frees a
  /// crashed holder's lock sooner, a long one survives longer outages of the quorum.
  std::chrono::nanoseconds ttl = std::chrono::seconds(10);
  /// The greatest ttl that any client of this cluster may ask for. All clients need the same value.
  std::chrono::nanoseconds max_ttl = std::chrono::seconds(30);
  /// How long to wait for a lock that is taken; zero is one attempt, `forever` has no limit. The
  /// call has ended when its wait is over, whatever the nodes do; an attempt that is undecided then
  /// is given up and cleaned up.
  std::chrono::nanoseconds wait = std::chrono::nanoseconds::zero();
  /// Unset: fifo, or unordered if fencing is off.
  std::optional<WaitOrder> order;

  /// Renew a lease between a quarter and a third into its validity, for as long as it is held.
  bool auto_extend = true;
  /// A lease ends at the latest this long after its acquisition began. Unset: no limit.
  std::optional<std::chrono::nanoseconds> max_hold;
  /// How many times a lease is renewed automatically. Unset: no limit.
  std::optional<int> max_renewals;
  /// How long before valid_until() the lease's stop_token is requested to stop. Unset: the greater
  /// of 100 ms and a tenth of the ttl.
  std::optional<std::chrono::nanoseconds> stop_margin;

  /// For each command: a node that has not answered within this time casts no vote. Leave this time
  /// alone: once a quorum has answered, a decision never waits for the other nodes.
  std::chrono::nanoseconds node_timeout = std::chrono::milliseconds(500);
  /// For each connection: the time for resolving, connecting and greeting together.
  std::chrono::nanoseconds connect_timeout = std::chrono::seconds(2);
  /// The greatest relative difference in rate between any node's clock and any client's. Leave it
  /// alone: 0.01 tolerates clocks that are each about half a per cent off.
  double drift_factor = 0.01;
  /// The pause between two attempts of an unordered wait, which nothing else brings forward.
  RetryOptions retry;

  /// Whether locks get fencing tokens (docs/promises.md). If off, Lease::fencing_token() is 0, an
  /// acquisition is exactly SET key token NX PX ttl, and a node that forgot its locks while it
  /// stayed connected is noticed only at the next renewal.
  bool fencing = true;
  /// The prefix that makes a resource's name into its key.
  std::string key_prefix;

  /// Receives the sentence of each event (to_string() in event.hpp) but lease_acquired and
  /// lease_released, which may be as many as locks. All that on_event says of its calls holds here,
  /// too. It never receives a password. Unset: no log.
  std::function<void(std::string_view)> log;

  /// How long a resource's fencing counter outlives its last use. Across a longer pause the order
  /// of tokens rests on the nodes' clocks being right within half of this time. All clients need
  /// the same value: whole seconds, at least four times max_ttl.
  std::chrono::nanoseconds fencing_memory = std::chrono::hours(24);

  /// A name for the holder of our locks, for people: the part of our owner tokens after the '@'.
  /// Inspections, errors and other clients show it. Spaces, '@' and bytes that are not printable
  /// ASCII become '_', and the name is cut at 64 bytes. Unset: default_label(). Empty: none.
  std::optional<std::string> label = std::nullopt;

  /// For the connections to `rediss://` nodes; a node may have its own (NodeOptions::tls).
  TlsOptions tls = {};
  /// Returns the user and password for this node. The function is called for each node that has no
  /// user or password of its own, with the node's name as in NodeStatus::node. The connection logs
  /// in again before the password ends: after nine tenths of valid_for, or half a minute before the
  /// end if that is earlier, but never before half of valid_for. No lease is lost by a new login.
  ///
  /// Each call runs on a thread of its own, so it may block, and it may run for several nodes at
  /// once. The coordinator's end asks it to stop by the std::stop_token, and waits for it for
  /// node_timeout at most. A call that is still blocked then goes on alone: capture by value
  /// whatever the function uses, since each call has its own copy, which belongs to its thread.
  ///
  /// An error or an exception is an event of the node; the function is called again after a pause
  /// of 1 s or more, and the credentials that it returned before are used until they end. The vote
  /// of a node without any credentials is `unauthorized`. Unset: nodes without credentials of their
  /// own get none.
  CredentialsCallback credentials;

  /// Receives what happens to our leases, our waiters and the nodes (event.hpp), for a log or an
  /// alert: docs/watching.md. To stop work when a lease ends, use its stop_token instead.
  ///
  /// It runs on the loop's thread, after the event, and must not block; with several loops it runs
  /// on each of their threads, one call at a time, and each loop reports its own connections. An
  /// exception that it throws ends nothing: it is an event, too. It is not called after close() has
  /// returned.
  ///
  /// In each minute at most 20 events of a kind about one node are passed on, and in each second at
  /// most 20 of a kind about no node. If there are more, the last of them follows when that time is
  /// over, with the number of the others in Event::left_out. If both this and `log` are unset,
  /// nothing is done for events.
  std::function<void(const Event& event)> on_event;

  /// Sorts resources into classes that Stats and the metrics count separately, as `class`: at most
  /// 32 prefixes of names, each of 1 to 64 bytes of UTF-8, such as "orders:". A resource belongs to
  /// the first of them that its name begins with, and otherwise to the class `other`; several
  /// resources at once belong to the class of the first. Empty: no classes, which costs nothing.
  std::vector<std::string> resource_classes = {};
};

/// This host's name, ':' and the number of this process: the label of owner tokens unless
/// Options::label is set.
QUORUMLOCK_EXPORT std::string default_label();

/// The options of one request. An unset member has the value that its comment names; no_limit takes
/// back a limit of Options.
struct LockOptions {
  std::optional<std::chrono::nanoseconds> ttl = std::nullopt;       ///< Options::ttl
  std::optional<std::chrono::nanoseconds> wait = std::nullopt;      ///< Options::wait
  std::optional<bool> auto_extend = std::nullopt;                   ///< Options::auto_extend
  std::optional<std::chrono::nanoseconds> max_hold = std::nullopt;  ///< Options::max_hold
  std::optional<int> max_renewals = std::nullopt;                   ///< Options::max_renewals
  std::optional<LockMode> mode = std::nullopt;                      ///< unset: exclusive
  std::optional<WaitOrder> order = std::nullopt;                    ///< Options::order
  /// Options::stop_margin or, if the ttl of this request is too short for that, the default of it.
  std::optional<std::chrono::nanoseconds> stop_margin = std::nullopt;
  /// Whether to keep the steps of the acquisition for Outcome::trace. Unset: no, which costs
  /// nothing.
  std::optional<bool> trace = std::nullopt;
  bool operator==(const LockOptions&) const = default;
};

/// The options of Coordinator::once(): those of its lock, and how long a period stays done.
struct OnceOptions {
  std::optional<std::chrono::nanoseconds> ttl = std::nullopt;          ///< as in LockOptions
  std::optional<std::chrono::nanoseconds> wait = std::nullopt;         ///< as in LockOptions
  std::optional<bool> auto_extend = std::nullopt;                      ///< as in LockOptions
  std::optional<std::chrono::nanoseconds> max_hold = std::nullopt;     ///< as in LockOptions
  std::optional<int> max_renewals = std::nullopt;                      ///< as in LockOptions
  std::optional<LockMode> mode = std::nullopt;                         ///< exclusive, or unset
  std::optional<WaitOrder> order = std::nullopt;                       ///< as in LockOptions
  std::optional<std::chrono::nanoseconds> stop_margin = std::nullopt;  ///< as in LockOptions
  std::optional<bool> trace = std::nullopt;                            ///< as in LockOptions
  /// How long the nodes remember which period was done, from the last time that somebody asked or
  /// was done. A period that may be asked for later than that may run again. Whole seconds, at
  /// least four times max_ttl. Unset: Options::fencing_memory.
  std::optional<std::chrono::nanoseconds> keep = std::nullopt;
  bool operator==(const OnceOptions&) const = default;

  /// The options of the lock.
  [[nodiscard]] LockOptions lock() const {
    return {ttl, wait, auto_extend, max_hold, max_renewals, mode, order, stop_margin, trace};
  }
};

}  // namespace quorumlock
