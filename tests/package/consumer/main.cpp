// Uses every public name of the installed library, with the umbrella header.

#include <quorumlock/quorumlock.hpp>

#include <coroutine>
#include <exception>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

using namespace std::chrono_literals;

namespace {

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

int failures = 0;

void expect(bool held, const std::string& what) {
  if (held) return;
  ++failures;
  std::cerr << "not as expected: " << what << '\n';
}

Task lock(quorumlock::Coordinator& coordinator, std::error_code& why) {
  quorumlock::Result<quorumlock::Lease> lease =
      co_await coordinator.co_acquire("orders:42", {.ttl = 10s});
  if (!lease) why = lease.error().code();
}

}  // namespace

int main() {
  using quorumlock::Errc;

  const auto nothing = quorumlock::Coordinator::create({});
  expect(!nothing && nothing.error().code() == Errc::invalid_argument, "options without nodes");

  const auto options = quorumlock::Options::from_json(
      R"({"nodes": ["unix:///nowhere/1", "unix:///nowhere/2", "unix:///nowhere/3"]})");
  expect(options.has_value(), "options from JSON");
  auto created = quorumlock::Coordinator::create(options.value());
  expect(created.has_value(), "a coordinator without a node in reach");
  quorumlock::Coordinator coordinator = std::move(*created);

  const auto refused = coordinator.acquire("orders:42", {.ttl = 5s, .wait = 0s});
  expect(!refused && refused.error().code() == Errc::no_quorum, "an acquire without nodes");
  expect(refused.error().outcome().count(quorumlock::Vote::unreachable) == 3, "its votes");

  const auto sum = coordinator.with_lock("orders:42", {}, [](quorumlock::Lease&) { return 1; });
  expect(!sum && sum.error().code() == Errc::no_quorum, "with_lock without nodes");

  quorumlock::Mutex mutex(coordinator, "orders:42");
  expect(!std::unique_lock(mutex, std::try_to_lock).owns_lock(), "try_lock without nodes");

  std::error_code why;
  lock(coordinator, why);
  coordinator.async_acquire("orders:43", {}, {}, [](quorumlock::Result<quorumlock::Lease>) {});
  coordinator.close();
  expect(why == Errc::no_quorum || why == Errc::closed, "a coroutine without nodes");

  if (failures == 0) std::cout << "consumer: ok\n";
  return failures;
}
