#pragma once

/// A test kit for programs that lock: nodes inside the process, so that a test needs no Redis, and
/// a clock that the test moves. CMake: find_package(quorumlock COMPONENTS testing), and link
/// quorumlock::testing. docs/programs.md has examples.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <quorumlock/clock.hpp>
#include <quorumlock/lease.hpp>
#include <quorumlock/options.hpp>

namespace quorumlock::testing {

namespace detail {
class Host;
}

/// Nodes inside this process. Each is the library's simulated redis-server, which a differential
/// test compares with real ones reply for reply: it runs the same scripts, and coordinators reach
/// it over a unix socket. The nodes are durable and enrolled, so that they vote at once.
///
///     testing::Cluster cluster;  // five nodes
///     auto coordinator = Coordinator::create(cluster.options()).value();
///     Lease lease = coordinator.acquire("orders:42").value();
///     cluster.lose(lease);       // the holder's code has to stop now
///
/// Nodes are numbered from 0 on; another number throws std::out_of_range. All members may be called
/// from any thread but a coordinator's own loop. Coordinators must not be used after the cluster is
/// destroyed, but may be destroyed later.
class Cluster {
 public:
  /// Starts 1 to 32 nodes; another number throws std::invalid_argument. Throws std::system_error if
  /// the machine has no sockets or files left.
  explicit Cluster(int size = 5);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// How many nodes there are.
  [[nodiscard]] int size() const noexcept;
  /// Options with the nodes of this cluster and defaults otherwise, for any number of coordinators.
  /// The nodes are enrolled with the default max_ttl and fencing_memory: a coordinator with others
  /// is refused.
  [[nodiscard]] Options options() const;

  /// Ends the lease now, as if its holder had stood still for too long and another client had taken
  /// the lock over: when this returns the lease is not valid and its stop_token() is requested, and
  /// the lock is free again. Blocking. Returns false if the lease had ended before, or if too few
  /// nodes can be reached to tell its holder.
  bool lose(Lease& lease);

  /// Ends the node, which then refuses connections.
  void stop(int node);
  /// Starts the node again, with its data. It votes again once max_ttl has passed.
  void start(int node);
  /// Makes the node lose all data and start again. It votes again once max_ttl has passed.
  void forget(int node);
  /// Cuts the node off: nothing reaches it and it sends nothing, but its connections stay open:
  /// what was sent arrives once the partition is over.
  void partition(int node);
  /// Ends the partition.
  void heal(int node);
  /// Moves the node's wall clock, by which its keys expire.
  void step_clock(int node, std::chrono::nanoseconds by);

  /// The value under a string key of this node, such as the owner token under a lock's key; nothing
  /// if there is no such key. Keys begin with the options' key_prefix.
  [[nodiscard]] std::optional<std::string> value(int node, std::string_view key) const;

 private:
  std::unique_ptr<detail::Host> host_;
};

/// quorumlock::Clock under the test's control, for the whole process. While an object of this class
/// exists the clock stands, and leases neither end nor are renewed unless the test moves it. There
/// may be one at a time: a second one throws std::logic_error. When the object is destroyed, the
/// clock goes on from the time that it shows.
///
/// The members must not be called on a coordinator's own loop: there they throw std::logic_error. A
/// coordinator that is attached to a loop of the user's takes part when that loop is run.
class ManualClock {
 public:
  ManualClock();
  ~ManualClock();
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  /// Lets that time pass: everything that is due meanwhile is done in its order and at its time,
  /// such as renewals and retries, with the nodes' answers. Returns when coordinators and nodes
  /// have come to rest; handlers, and threads that were waiting, may still be running. Throws
  /// std::invalid_argument if `by` is negative.
  void advance(std::chrono::nanoseconds by);
  /// Lets that time pass for everything but this machine, which stands still like a suspended
  /// virtual machine: nothing is done meanwhile, and what falls due meanwhile is done late.
  void suspend(std::chrono::nanoseconds by);
};

}  // namespace quorumlock::testing
