// libuv closes its descriptors by syscall(SYS_close, fd), which ThreadSanitizer does not see. When
// the kernel gives the same number to another thread, the sanitizer takes that for a race with the
// descriptor's former owner. This function is found before libc's, by libuv, too, and closes by
// close(), which the sanitizer sees. It is linked into the test programs of a TSan build only.

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdarg>

extern "C" long syscall(long number, ...) noexcept {
  std::array<long, 6> arguments{};
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (number == SYS_close) return close(static_cast<int>(arguments[0]));

  using Syscall = long (*)(long, ...);
  static const auto of_libc = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return of_libc(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                 arguments[5]);
}
