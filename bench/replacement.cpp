#include "replacement.hpp"

#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include <quorumlock/admin.hpp>

namespace quorumlock::bench {
namespace {

using namespace std::chrono_literals;

void wait_until(const std::function<bool()>& is_so) {
  while (!is_so()) std::this_thread::sleep_for(50ms);
}

}  // namespace

Replacement::Replacement(Options to)
    : thread_([this, to = std::move(to)] {
        const auto begun = std::chrono::steady_clock::now();
        try {
          run(to);
        } catch (const std::exception& error) {
          trouble_ = error.what();
        }
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        over_ = true;
      }) {}

void Replacement::run(const Options& to) {
  MembersChange change = MembersChange::open(to).value();
  const auto look = [&] { return change.look().value().front(); };
  change.announce().value();
  wait_until([&] { return look().old_clients().empty(); });
  step_ = committed;
  change.commit().value();
  for (;;) {
    const std::chrono::nanoseconds left = change.settle().value();
    if (left <= 0ns) break;
    std::this_thread::sleep_for(left);
    step_ = settled;
  }
  wait_until([&] { return look().done; });
}

}  // namespace quorumlock::bench
