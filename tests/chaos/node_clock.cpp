#include <quorumlock/clock.hpp>

#include "chaos/node_clock.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace quorumlock::chaos {
namespace {

/// The server's true time.
std::int64_t boot_time() {
  return Clock::now().time_since_epoch().count();
}

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

[[noreturn]] void fail(const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), "cannot map " + file.string());
}

}  // namespace

NodeClock::NodeClock(const std::filesystem::path& file) : file_(file) {
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) fail(file);
  void* mapped = MAP_FAILED;
  if (::ftruncate(descriptor, sizeof(ClockSetting)) == 0) {
    mapped =
        ::mmap(nullptr, sizeof(ClockSetting), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  }
  ::close(descriptor);
  if (mapped == MAP_FAILED) fail(file);
  setting_ = new (mapped) ClockSetting{};
  setting_->set(boot_time(), wall_clock(), 1);
}

NodeClock::~NodeClock() {
  ::munmap(setting_, sizeof(ClockSetting));
}

std::vector<std::string> NodeClock::environment() const {
  return {std::string("LD_PRELOAD=") + QUORUMLOCK_CLOCK_INTERPOSER,
          std::string(clock_variable) + "=" + file_.string()};
}

void NodeClock::run_at(double rate) {
  const std::int64_t now = boot_time();
  setting_->set(now, setting_->show(now), rate);
}

void NodeClock::step(std::chrono::nanoseconds by) {
  const std::int64_t now = boot_time();
  setting_->set(now, setting_->show(now) + by.count(), setting_->rate);
}

}  // namespace quorumlock::chaos
