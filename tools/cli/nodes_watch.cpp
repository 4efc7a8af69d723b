#include "nodes_watch.hpp"

#include <sys/stat.h>

#include <quorumlock/settings.hpp>

#include <chrono>
#include <tuple>
#include <utility>

namespace quorumlock::cli {
namespace {

constexpr std::chrono::milliseconds look_every{500};

/// A file's properties that change when it is written or replaced; all zero if there is no file.
using Version = std::tuple<dev_t, ino_t, off_t, time_t, long>;

Version version_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

}  // namespace

NodesWatch::NodesWatch(const Globals& globals, const Options& options, Coordinator& coordinator)
    : coordinator_(coordinator), file_(globals.file_of_nodes()), lists_(lists_of(options)) {
  if (!file_) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

bool NodesWatch::look_now() {
  if (!file_) return false;
  const std::lock_guard<std::mutex> lock(guard_);
  read();
  return true;
}

void NodesWatch::watch(const std::stop_token& stop) {
  Version seen{};  // an unknown version: the file may have changed since the options were read, so
                   // it is read once
  std::unique_lock<std::mutex> lock(guard_);
  while (!stop.stop_requested()) {
    if (const Version version = version_of(*file_); version != seen) {
      seen = version;
      read();
    }
    stopped_.wait_for(lock, stop, look_every, [] { return false; });
  }
}

void NodesWatch::read() {
  const Result<Options> now = load_options(Setting{"--config", *file_}, std::nullopt);
  if (!now) {
    return Globals::warn(std::string("the nodes stay as they are, since the configuration cannot "
                                     "be used: ") +
                         now.error().what());
  }
  const Lists lists = lists_of(*now);
  for (const auto& [group, nodes] : lists) {
    const auto before = lists_.find(group);
    if (before != lists_.end() && before->second == nodes) continue;
    const Result<void> set =
        group.empty() ? coordinator_.set_nodes(nodes) : coordinator_.set_nodes(group, nodes);
    if (set) {
      lists_[group] = nodes;
    } else {
      Globals::warn(std::string("the nodes stay as they are: ") + set.error().what());
    }
  }
}

NodesWatch::Lists NodesWatch::lists_of(const Options& options) {
  if (options.groups.empty()) return {{"", options.nodes}};
  return options.groups;
}

}  // namespace quorumlock::cli
