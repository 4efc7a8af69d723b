#include "nodes_watch.hpp"

#include <sys/stat.h>

#include <quorumlock/options.hpp>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "failure.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::chrono::milliseconds look_every{500};

/// A file's properties that change when it is written or replaced; all zero if there is no file.
using Version = std::tuple<dev_t, ino_t, off_t, time_t, long>;

/// Returns nothing for a pipe: it can be read only once.
std::optional<Version> version_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return Version{};
  if (!S_ISREG(found.st_mode)) return std::nullopt;
  return Version{found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec,
                 found.st_mtim.tv_nsec};
}

using Lists = std::map<std::string, Nodes>;

Lists lists_of(const Options& options) {
  if (options.groups.empty()) return {{"", options.nodes}};
  return options.groups;
}

void warn(const std::string& why) {
  Globals::warn("the nodes stay as they are" + why);
}

}  // namespace

/// What the watch and its thread share.
struct NodesWatch::Watched {
  Coordinator& coordinator;
  const std::string file;
  Lists lists;  ///< the lists that the coordinator was last given

  std::mutex guard{};  ///< for the following, and for the use of the coordinator
  std::condition_variable changed{};
  bool look = false;   ///< the file is to be read now
  bool over = false;   ///< the coordinator must not be used any more
  bool ended = false;  ///< the thread uses nothing of this any more

  void watch() {
    // An unknown version: the file may have changed since the options were read, so it is read
    // once.
    Version seen{};
    bool lacked = false;
    std::unique_lock<std::mutex> lock(guard);
    while (!over) {
      const bool asked = std::exchange(look, false);
      lock.unlock();
      const Version version = version_of(file).value_or(seen);
      std::optional<Result<Options>> now;
      if (asked || version != seen) now = load_options(Setting{"--config", file}, std::nullopt);
      // If this process lacks a descriptor, the file is read later, and that is said once.
      const bool lacks = now && !*now && now->error().code() != Errc::invalid_argument;
      if (!lacks) seen = version;
      lock.lock();
      if (now && !over && !(lacks && lacked)) take(*now);
      lacked = lacks;
      changed.wait_for(lock, look_every, [this] { return over || look; });
    }
    ended = true;
    changed.notify_all();
  }

  void take(const Result<Options>& now) {
    if (!now)
      return warn(std::string(", since the configuration cannot be used: ") + now.error().what());
    for (const auto& [group, nodes] : lists_of(*now)) {
      const auto before = lists.find(group);
      if (before != lists.end() && before->second == nodes) continue;
      const Result<void> set =
          group.empty() ? coordinator.set_nodes(nodes) : coordinator.set_nodes(group, nodes);
      if (set) {
        lists[group] = nodes;
      } else {
        warn(std::string(": ") + set.error().what());
      }
    }
  }
};

NodesWatch::NodesWatch(const Globals& globals, const Options& options, Coordinator& coordinator)
    : watched_(globals.file_of_nodes()
                   ? new Watched{coordinator, *globals.file_of_nodes(), lists_of(options)}
                   : nullptr) {
  if (watched_ == nullptr) return;
  try {
    std::thread([watched = watched_] { watched->watch(); }).detach();
  } catch (const std::system_error& error) {
    throw Failure::local("cannot start the thread that watches the configuration file: " +
                         error.code().message());
  }
}

NodesWatch::~NodesWatch() {
  if (watched_ == nullptr) return;
  std::unique_lock<std::mutex> lock(watched_->guard);
  watched_->over = true;
  watched_->changed.notify_all();
  watched_->changed.wait_for(lock, look_every, [this] { return watched_->ended; });
}

bool NodesWatch::look_now() {
  if (watched_ == nullptr) return false;
  const std::lock_guard<std::mutex> lock(watched_->guard);
  watched_->look = true;
  watched_->changed.notify_all();
  return true;
}

}  // namespace quorumlock::cli
