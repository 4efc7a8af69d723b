// Uses <quorumlock/asio.hpp> of the installed library.

#include <quorumlock/asio.hpp>

#include <iostream>
#include <utility>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

int main() {
  auto options = quorumlock::Options::from_json(R"({"nodes": ["unix:///nowhere/1"]})");
  auto coordinator = quorumlock::Coordinator::create(std::move(options).value()).value();
  asio::io_context context;
  std::error_code why;
  quorumlock::async_acquire(
      coordinator, "orders:42",
      asio::bind_executor(context,
                          [&](std::error_code code, const quorumlock::Lease&) { why = code; }));
  context.run();
  if (why != quorumlock::Errc::no_quorum) {
    std::cerr << "not as expected: " << why << '\n';
    return 1;
  }
  std::cout << "consumer_asio: ok\n";
}
