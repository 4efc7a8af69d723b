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

#include "chaos/descriptor.hpp"
#include "chaos/history.hpp"

namespace quorumlock::chaos {

/// What a resource has to do for its own protection: remember the greatest fencing token of which
/// it has seen a write, and refuse smaller ones.
class Fence {
 public:
  /// False: everything is accepted.
  explicit Fence(bool checks) : checks_(checks) {}

  /// Decides on the write, in its members `accepted` and `greatest`.
  void decide(Write& write);

 private:
  struct Greatest {
    std::uint64_t token = 0;
    std::string owner;
  };
  bool checks_;
  std::map<std::string, Greatest> resources_;
};

/// What the locks protect: takes the workers' writes one after the other, on a unix socket.
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
  /// False where the client has gone.
  bool answer(const Descriptor& client);

  Fence fence_;
  Descriptor listener_;
  Descriptor wake_;
  std::atomic<bool> over_ = false;
  mutable std::mutex mutex_;  ///< guards the writes
  std::vector<Write> writes_;
  std::thread thread_;
};

/// A worker's way to the store.
class StoreClient {
 public:
  explicit StoreClient(const std::filesystem::path& socket);
  /// Whether it was accepted. Throws std::runtime_error where the store is gone.
  bool write(const std::string& resource, const std::string& owner, int worker,
             std::uint64_t token);

 private:
  Descriptor socket_;
};

}  // namespace quorumlock::chaos
