// Preloaded into a redis-server: its wall clock shows what a mapped file says (clock_setting.hpp).
//
// Redis expires keys by gettimeofday, and also calls clock_gettime and time; the monotonic clocks
// stay as they are. The allocator asks for the time before it is ready itself, so no clock here
// allocates, looks up a symbol or needs a library: the true time comes straight from the kernel.
//
// Valkey 9.1 asks for the time once in a millisecond, and adds what a counter of the processor says
// has passed since. It does so only if /proc/cpuinfo says that the counter is steady, so that file
// is not there.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "chaos/clock_setting.hpp"

namespace {

using quorumlock::chaos::ClockSetting;

constexpr std::int64_t second = 1'000'000'000;
const ClockSetting* setting = nullptr;

__attribute__((constructor)) void map_setting() {
  const char* path = std::getenv(quorumlock::chaos::clock_variable);
  if (path == nullptr) return;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = ::mmap(nullptr, sizeof(ClockSetting), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped != MAP_FAILED) setting = static_cast<const ClockSetting*>(mapped);
}

long true_time(clockid_t clock, timespec* time) noexcept {
  return ::syscall(SYS_clock_gettime, clock, time);
}

std::int64_t shown_time() noexcept {
  timespec now{};
  true_time(setting == nullptr ? CLOCK_REALTIME : CLOCK_BOOTTIME, &now);
  const std::int64_t ns = now.tv_sec * second + now.tv_nsec;
  return setting == nullptr ? ns : setting->show(ns);
}

FILE* open_by(const char* function, const char* path, const char* mode) {
  if (setting != nullptr && path == std::string_view("/proc/cpuinfo")) {
    errno = ENOENT;
    return nullptr;
  }
  using Open = FILE* (*)(const char*, const char*);
  return reinterpret_cast<Open>(::dlsym(RTLD_NEXT, function))(path, mode);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    return static_cast<int>(true_time(clock, time));
  }
  const std::int64_t now = shown_time();
  *time = {now / second, now % second};
  return 0;
}

__attribute__((visibility("default"))) int gettimeofday(timeval* time, void*) noexcept {
  const std::int64_t now = shown_time();
  *time = {now / second, now % second / 1000};
  return 0;
}

__attribute__((visibility("default"))) time_t time(time_t* time) noexcept {
  const time_t now = shown_time() / second;
  if (time != nullptr) *time = now;
  return now;
}

__attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode) {
  return open_by("fopen", path, mode);
}

__attribute__((visibility("default"))) FILE* fopen64(const char* path, const char* mode) {
  return open_by("fopen64", path, mode);
}
}
