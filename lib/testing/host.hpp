#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/node_server.hpp"

namespace quorumlock::testing::detail {

/// The nodes of one cluster, and the thread that serves them whenever something arrives.
class Host {
 public:
  explicit Host(int size);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  /// The path of a node's socket.
  [[nodiscard]] const std::string& path(int node) const {
    return nodes_.at(static_cast<std::size_t>(node))->path();
  }
  /// Calls `use` with that node, while nothing else uses it. Throws std::out_of_range.
  template <class Use>
  auto with(int node, Use use) {
    const std::lock_guard<std::mutex> lock(guard_);
    const Wake wake{*this};
    return use(*nodes_.at(static_cast<std::size_t>(node)));
  }
  /// Lets the nodes handle what has arrived. Returns how often anything had arrived, on any thread.
  std::uint64_t pump();
  /// The same for all hosts of this process.
  static std::uint64_t pump_all();

 private:
  /// Wakes the thread when it ends, since what the thread waits for may have changed.
  struct Wake {
    Host& host;
    ~Wake() { host.wake(); }
  };

  /// The folder of the nodes' sockets, which is removed with it.
  struct Folder {
    Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder();
    std::string path;
  };

  void serve();
  void wake() const;

  Folder folder_;
  std::mutex guard_;  ///< protects nodes_, arrivals_ and ends_
  std::vector<std::unique_ptr<NodeServer>> nodes_;
  std::uint64_t arrivals_ = 0;
  bool ends_ = false;
  uv::Descriptor woken_;
  std::thread thread_;
};

}  // namespace quorumlock::testing::detail
