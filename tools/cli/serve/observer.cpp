#include "serve/observer.hpp"

namespace quorumlock::cli {
namespace {

// The most patterns and resources that are watched at once. A viewer of another one is refused
// until a viewer has gone.
constexpr std::size_t most_patterns = 8;
constexpr std::size_t most_resources = 32;

}  // namespace

Observer::Observer(Coordinator& coordinator, std::size_t most_locks)
    : status(board, 1, [&coordinator](const std::string&) { return coordinator.status(); }),
      locks(board, most_patterns,
            [this, &coordinator, most_locks](const std::string& pattern) {
              const auto began = std::chrono::steady_clock::now();
              Result<LockList> list =
                  list_locks(coordinator, {.pattern = pattern, .most = most_locks});
              if (pattern == all_locks) ran_out.note(list, began);
              return list;
            }),
      resources(
          board, most_resources,
          [&coordinator](const std::string& resource) { return coordinator.inspect(resource); }),
      coordinator_(coordinator) {}

void Observer::end() {
  board.end();
  coordinator_.close();
}

}  // namespace quorumlock::cli
