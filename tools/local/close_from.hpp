#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace quorumlock::local {

/// Closes every descriptor from `first` on. Only system calls: for a process that was forked from a
/// program with threads.
///
/// close_range() came with Linux 5.9, and profiles of older container engines forbid it. Then the
/// descriptors are those that /proc shows, and without /proc all numbers that the limit on open
/// files allows, up to a million: a higher limit would take minutes.
inline void close_from(int first) noexcept {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  const int shown = ::open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (shown < 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1'000'000));
    for (int fd = first; fd < end; ++fd) ::close(fd);
    return;
  }
  // Closing a descriptor may move the place in the folder, so it is read until nothing is closed.
  for (bool closed = true; closed;) {
    closed = false;
    ::lseek(shown, 0, SEEK_SET);
    alignas(dirent64) char buffer[4096];
    long size = 0;
    while ((size = ::syscall(SYS_getdents64, shown, buffer, sizeof buffer)) > 0) {
      for (long at = 0; at < size;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
        at += entry->d_reclen;
        int fd = 0;
        const char* digit = entry->d_name;
        for (; *digit >= '0' && *digit <= '9'; ++digit) fd = 10 * fd + (*digit - '0');
        if (digit == entry->d_name || *digit != '\0' || fd < first || fd == shown) continue;
        closed = ::close(fd) == 0 || closed;
      }
    }
  }
  ::close(shown);
}

}  // namespace quorumlock::local
