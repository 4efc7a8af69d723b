#include <quorumlock/quorumlock.hpp>

__attribute__((visibility("default"))) bool is_locked(quorumlock::Coordinator& coordinator) {
  return coordinator.acquire("orders:42").has_value();
}
