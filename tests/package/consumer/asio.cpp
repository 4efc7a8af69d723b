// Uses <quorumlock/asio.hpp> of the installed library.

#include <quorumlock/asio.hpp>

#include <iostream>
#include <utility>

#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

asio::awaitable<void> wait_for(quorumlock::Coordinator& coordinator, bool& refused) {
  const quorumlock::Result<quorumlock::Lease> lease = co_await quorumlock::async_acquire(
      coordinator, "orders:43", quorumlock::as_result(asio::use_awaitable));
  refused = !lease && lease.error().code() == quorumlock::Errc::no_quorum;
}

int main() {
  auto options = quorumlock::Options::from_json(R"({"nodes": ["unix:///nowhere/1"]})");
  auto coordinator = quorumlock::Coordinator::create(std::move(options).value()).value();
  asio::io_context context;
  std::error_code why;
  quorumlock::async_acquire(
      coordinator, "orders:42",
      asio::bind_executor(context,
                          [&](std::error_code code, const quorumlock::Lease&) { why = code; }));
  bool refused = false;
  asio::co_spawn(context, wait_for(coordinator, refused), asio::detached);
  context.run();
  if (why != quorumlock::Errc::no_quorum || !refused) {
    std::cerr << "not as expected: " << why << '\n';
    return 1;
  }
  std::cout << "consumer_asio: ok\n";
}
