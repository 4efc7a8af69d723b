#pragma once

#include <algorithm>
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
#include <quorumlock/detail/export.hpp>
#include <quorumlock/event.hpp>
#include <quorumlock/result.hpp>

namespace quorumlock {

/// The oldest version of TLS that a node may speak.
enum class TlsVersion { tls_1_2, tls_1_3 };

/// How connections to `rediss://` nodes are encrypted and whom they trust. A plain value, both of
/// the whole configuration (Options::tls) and of one node (NodeOptions::tls), whose members have
/// precedence. An unset member has the default.
///
/// The files are read again when a connection is made after they have changed, so certificates can
/// be replaced while the program runs. A file that cannot be used when a coordinator is made is an
/// error; later, or if its file system does not answer within node_timeout, it costs the vote of
/// each node that has to be connected anew.
struct TlsOptions {
  /// A file of certificates in PEM form: the authorities (CAs) that may vouch for a node.
  std::optional<std::string> ca_file = std::nullopt;
  /// A directory of such certificates as `openssl rehash` prepares it. If neither ca_file nor
  /// ca_dir is set, the system's authorities are trusted, otherwise only those that are given.
  std::optional<std::string> ca_dir = std::nullopt;
  /// The certificate that we present to nodes that ask for one, in PEM form, followed by the
  /// authorities between it and the CA if there are any. Unset: none.
  std::optional<std::string> cert_file = std::nullopt;
  /// The private key of cert_file, not encrypted; both may be in one file.
  std::optional<std::string> key_file = std::nullopt;
  /// The host name or IP address that a node's certificate must be for. Unset: that of the URL.
  std::optional<std::string> server_name = std::nullopt;
  /// Unset: TLS 1.2.
  std::optional<TlsVersion> min_version = std::nullopt;
  /// Accept any certificate. Anybody between this client and the node can then read and change
  /// everything, passwords included; only for a first try.
  std::optional<bool> unsafe_skip_verify = std::nullopt;
  bool operator==(const TlsOptions&) const = default;
};

/// The options of one node. A URL alone will do, wherever one of these is expected.
struct NodeOptions {
  NodeOptions() = default;
  /// A node by its URL, and its name if it is given.
  NodeOptions(const char* its_url) : url(its_url) {}             // NOLINT: implicit
  NodeOptions(std::string its_url) : url(std::move(its_url)) {}  // NOLINT: implicit
  NodeOptions(std::string its_url, std::string its_name)
      : url(std::move(its_url)), name(std::move(its_name)) {}

  /// `redis://[user[:password]@]host[:port][/db]`, the same with `rediss://` for TLS, or
  /// `unix:///path[?db=N]`. `redis+sentinel://[user[:password]@]SENTINELS/service[/db]`, with the
  /// host[:port] of each Sentinel and commas between them, is the server that a majority of these
  /// Sentinels calls the service's primary: one vote, see docs/nodes.md. With
  /// `rediss+sentinel://` they and the server are reached by TLS.
  std::string url;
  /// The node's name among the members of its list (docs/members.md): 1 to 255 visible characters,
  /// the same in every client and for good. Empty: host:port, or the path of its socket; a node
  /// that is found through Sentinels needs one. The member's name is this and, if that is not 0,
  /// the database.
  std::string name;
  /// Only for a node with TLS. An unset member is taken from Options::tls.
  TlsOptions tls = {};
  /// The user to log in as; empty: the user in the URL, or the default user.
  std::string user = {};
  /// The path of a file that has the password and nothing else, in place of a password in the URL.
  /// It is read again at each connect; if it changes, each connection logs in again within some
  /// seconds, and no lease is lost by that.
  std::string password_file = {};
  /// The environment variable that has the password. It is read once, before the first connection.
  std::string password_env = {};
  bool operator==(const NodeOptions&) const = default;
};

/// A list of nodes: a vector that can also be made from a vector of URLs.
class Nodes : public std::vector<NodeOptions> {
 public:
  using std::vector<NodeOptions>::vector;
  Nodes() = default;
  /// One node for each URL.
  Nodes(const std::vector<std::string>& urls) : vector(urls.begin(), urls.end()) {}  // NOLINT
  friend bool operator==(const Nodes& a, const Nodes& b) { return std::ranges::equal(a, b); }
};

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
  /// The greatest ttl that any client of this cluster may ask for. It is a term of the nodes' list,
  /// which `quorumlock members apply` changes. Unset: that of the nodes; a list that this client
  /// founds gets 30 s. Nodes with another value than one that is set refuse this client.
  std::optional<std::chrono::nanoseconds> max_ttl = std::nullopt;
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
  /// of tokens rests on the nodes' clocks being right within half of this time. Whole seconds, at
  /// least four times max_ttl. A term of the nodes' list as max_ttl is; unset: that of the nodes,
  /// or a day for a list that this client founds.
  std::optional<std::chrono::nanoseconds> fencing_memory = std::nullopt;

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

/// A value that the user has set, and the name of the place as an error shows it
/// ("QUORUMLOCK_NODES", "--nodes").
struct Setting {
  std::string source;  ///< the place
  std::string value;   ///< its text
};

/// The value of an environment variable; std::nullopt if it is not set.
QUORUMLOCK_EXPORT std::optional<Setting> setting_from(const char* variable);

/// Reads the options of a configuration file, replaces its nodes by a comma-separated list of URLs,
/// and validates the result. Either may be missing; without a file all options but the nodes are as
/// in Options().
QUORUMLOCK_EXPORT Result<Options> load_options(const std::optional<Setting>& file,
                                               const std::optional<Setting>& nodes);

/// Reads a duration as users write it in the JSON options and on the command line: a whole number
/// and a unit (us, ms, s, m, h, d) with nothing between or around them, such as "10s" or "1500ms".
/// `name` is the option that an error is about, such as "ttl" or "--ttl".
QUORUMLOCK_EXPORT Result<std::chrono::nanoseconds> parse_duration(std::string_view name,
                                                                  std::string_view text);

/// Reads a duration as parse_duration() does, or "forever", which gives quorumlock::forever.
QUORUMLOCK_EXPORT Result<std::chrono::nanoseconds> parse_wait(std::string_view name,
                                                              std::string_view text);

/// Writes the exact duration in the largest unit in which it is a whole number. parse_duration()
/// reads it back, unless it is negative or not a whole number of microseconds ("ns" is for messages
/// only).
QUORUMLOCK_EXPORT std::string to_text(std::chrono::nanoseconds duration);

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
  /// least four times max_ttl. Unset: the fencing_memory of the nodes.
  std::optional<std::chrono::nanoseconds> keep = std::nullopt;
  bool operator==(const OnceOptions&) const = default;

  /// The options of the lock.
  [[nodiscard]] LockOptions lock() const {
    return {ttl, wait, auto_extend, max_hold, max_renewals, mode, order, stop_margin, trace};
  }
};

}  // namespace quorumlock
