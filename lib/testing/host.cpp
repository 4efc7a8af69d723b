#include "testing/host.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace quorumlock::testing::detail {
namespace {

/// The hosts of this process. Never destroyed, since a cluster may be a global variable.
struct Hosts {
  std::mutex guard;
  std::vector<Host*> hosts;
};

Hosts& all() {
  static Hosts& it = *new Hosts;
  return it;
}

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

Host::Folder::Folder()
    : path((std::filesystem::temp_directory_path() / "quorumlock-XXXXXX").string()) {
  if (::mkdtemp(path.data()) == nullptr) fail("cannot make the folder " + path);
}

Host::Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

Host::Host(int size) {
  if (size < 1 || size > 32) {
    throw std::invalid_argument("a cluster of the test kit has 1 to 32 nodes, not " +
                                std::to_string(size));
  }
  woken_ = uv::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!woken_) fail("cannot make an eventfd for the test kit");
  if (::poll(nullptr, 0, 0) != 0) fail("the test kit cannot wait: the system call poll() failed");
  for (int node = 0; node < size; ++node) {
    nodes_.push_back(std::make_unique<NodeServer>(folder_.path + "/node-" + std::to_string(node),
                                                  static_cast<std::uint64_t>(node) + 1));
  }
  {
    const std::lock_guard<std::mutex> lock(all().guard);
    all().hosts.push_back(this);
  }
  // The program's signals are meant for the program's own threads.
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Host::~Host() {
  {
    const std::lock_guard<std::mutex> lock(all().guard);
    std::erase(all().hosts, this);
  }
  {
    const std::lock_guard<std::mutex> lock(guard_);
    ends_ = true;
  }
  wake();
  thread_.join();
}

void Host::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_.get(), &one, sizeof one);
}

void Host::serve() {
  std::vector<pollfd> waits;
  for (;;) {
    waits.assign(1, {woken_.get(), POLLIN, 0});
    {
      const std::lock_guard<std::mutex> lock(guard_);
      if (ends_) return;
      for (const auto& node : nodes_) node->add_waits(waits);
    }
    ::poll(waits.data(), waits.size(), -1);
    std::uint64_t count = 0;
    (void)!::read(woken_.get(), &count, sizeof count);
    pump();
  }
}

std::uint64_t Host::pump() {
  const std::lock_guard<std::mutex> lock(guard_);
  for (const auto& node : nodes_) arrivals_ += node->pump() ? 1 : 0;
  return arrivals_;
}

std::uint64_t Host::pump_all() {
  const std::lock_guard<std::mutex> lock(all().guard);
  std::uint64_t arrivals = 0;
  for (Host* const host : all().hosts) arrivals += host->pump();
  return arrivals;
}

}  // namespace quorumlock::testing::detail
