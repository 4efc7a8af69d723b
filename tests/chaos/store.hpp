#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "chaos/history.hpp"
#include "local/descriptor.hpp"

namespace quorumlock::chaos {

using local::Descriptor;
using local::fail_with_errno;

/// The check by which a resource protects itself: it remembers the greatest fencing token of the
/// writes that it has seen, and refuses smaller ones.
class Fence {
 public:
  /// If `checks` is false, everything is accepted.
  explicit Fence(bool checks) : checks_(checks) {}

  /// Decides on the write: sets its members `accepted` and `greatest`.
  void decide(Write& write);

 private:
  struct Greatest {
    std::uint64_t token = 0;
    std::string owner;
  };
  bool checks_;
  std::map<std::string, Greatest> resources_;
};

/// The store that the locks protect. It takes the workers' writes one after another, on a unix
/// socket.
class Store {
 public:
  Store(const std::filesystem::path& socket, bool checks);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  /// All writes until now, in the order in which they were decided.
  [[nodiscard]] std::vector<Write> writes() const;

 private:
  void run();
  /// Returns false if the client has gone.
  bool answer(const Descriptor& client);

  Fence fence_;
  Descriptor listener_;
  Descriptor wake_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;  ///< guards the writes
  std::vector<Write> writes_;
  std::thread thread_;
};

/// A worker's connection to the store.
class StoreClient {
 public:
  explicit StoreClient(const std::filesystem::path& socket);
  /// Returns whether the write was accepted. Throws std::runtime_error if the store is gone.
  bool write(const std::string& resource, const std::string& owner, int worker,
             std::uint64_t token);

 private:
  Descriptor socket_;
};

}  // namespace quorumlock::chaos
