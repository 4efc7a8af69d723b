// A program that loads a plugin that uses the library, and unloads it: nothing of the library may
// stay in the process. Compiled twice: as the program, and as the plugin (PLUGIN).
//
//   unload PLUGIN LIBRARY NODE
#ifdef PLUGIN

#include <quorumlock/quorumlock.hpp>

extern "C" __attribute__((visibility("default"))) int try_to_lock(const char* node) {
  quorumlock::Options options;
  options.nodes = {node};
  auto coordinator = quorumlock::Coordinator::create(std::move(options));
  if (!coordinator) return 1;
  const auto lease = coordinator->acquire("orders:42");
  if (!lease) return 2;
  quorumlock::Mutex mutex(*coordinator, "orders:43");
  if (!mutex.try_lock()) return 3;
  mutex.unlock();
  return 0;
}

#else

#include <dlfcn.h>

#include <cstdio>
#include <future>
#include <thread>

int main(int, char** arguments) {
  void* const plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto try_to_lock = reinterpret_cast<int (*)(const char*)>(dlsym(plugin, "try_to_lock"));
  if (try_to_lock == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  // Another thread uses the plugin, too, and ends after it is unloaded.
  std::promise<int> other_code;
  std::promise<void> unloaded;
  std::thread other([&] {
    other_code.set_value(try_to_lock(arguments[3]));
    unloaded.get_future().wait();
  });
  int code = other_code.get_future().get();
  if (code == 0) code = try_to_lock(arguments[3]);
  dlclose(plugin);
  // Asks the linker whether the library is still loaded.
  const bool stays = dlopen(arguments[2], RTLD_NOW | RTLD_NOLOAD) != nullptr;
  unloaded.set_value();
  other.join();
  if (code != 0) return std::fprintf(stderr, "the plugin gives %d\n", code), 1;
  if (!stays) return 0;
  return std::fprintf(stderr, "%s is still loaded\n", arguments[2]), 1;
}

#endif
