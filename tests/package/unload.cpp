// A program that loads a plugin that uses the library, and unloads it: nothing of the library may
// stay in the process. Compiled twice: as the program, and as the plugin (PLUGIN).
#ifdef PLUGIN

#include <quorumlock/quorumlock.hpp>

extern "C" __attribute__((visibility("default"))) int try_to_lock() {
  quorumlock::Options options;
  options.nodes = {"unix:///nowhere/1"};
  auto coordinator = quorumlock::Coordinator::create(std::move(options));
  if (!coordinator) return 1;
  const auto lease = coordinator->acquire("orders:42");
  return !lease && lease.error().code() == quorumlock::Errc::no_quorum ? 0 : 2;
}

#else

#include <dlfcn.h>

#include <cstdio>

int main(int, char** arguments) {
  void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto try_to_lock = reinterpret_cast<int (*)()>(dlsym(plugin, "try_to_lock"));
  if (try_to_lock == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  if (const int code = try_to_lock(); code != 0) {
    return std::fprintf(stderr, "the plugin gives %d\n", code), 1;
  }
  dlclose(plugin);
  // Asks the linker whether the library is still loaded.
  if (dlopen(arguments[2], RTLD_NOW | RTLD_NOLOAD) == nullptr) return 0;
  return std::fprintf(stderr, "%s is still loaded\n", arguments[2]), 1;
}

#endif
