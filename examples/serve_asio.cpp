// A server on Boost.Asio: POST /orders/N is handled under the lock orders:N.
#include <boost/asio.hpp>
#include <iostream>
#include <quorumlock/asio.hpp>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp, asio::detached, asio::use_awaitable, quorumlock::as_result;
asio::awaitable<std::string> answer(quorumlock::Coordinator& locks, std::string asked) {
  if (asked.starts_with("GET /healthz ")) {
    const auto status = co_await quorumlock::async_status(locks, as_result(use_awaitable));
    co_return status && status->has_quorum() ? "200 OK" : "503 Service Unavailable";
  }
  if (!asked.starts_with("POST /orders/")) co_return "404 Not Found";
  const std::string order = "orders:" + asked.substr(13, asked.find(' ', 13) - 13);
  auto lease = co_await async_acquire(locks, order, {.wait = 500ms}, as_result(use_awaitable));
  if (lease) co_return "200 OK";  // the work goes here, and the lease is released after it
  const std::error_code why = lease.error().code();  // held by another, or too few nodes
  const bool held = why == quorumlock::Errc::contended || why == quorumlock::Errc::timed_out;
  co_return held ? "423 Locked" : "503 Service Unavailable";
}
asio::awaitable<void> serve(quorumlock::Coordinator& locks, tcp::socket client) {
  std::string text;
  co_await async_read_until(client, asio::dynamic_buffer(text, 8192), "\r\n\r\n", use_awaitable);
  text = "HTTP/1.1 " + co_await answer(locks, text) + "\r\nConnection: close\r\n\r\n";
  co_await asio::async_write(client, asio::buffer(text), use_awaitable);
}
int main() {
  auto locks = quorumlock::Coordinator::create(quorumlock::Options::from_env().value()).value();
  asio::io_context io;
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
  asio::signal_set ending(io, SIGTERM);
  ending.async_wait([&](auto, int) { acceptor.close(); });
  const auto listen = [&]() -> asio::awaitable<void> {  // until the acceptor is closed
    for (;;) co_spawn(io, serve(locks, co_await acceptor.async_accept(use_awaitable)), detached);
  };
  co_spawn(io, listen(), detached);
  std::cout << "port " << acceptor.local_endpoint().port() << std::endl;
  while (io.run_for(2s) > 0 || acceptor.is_open()) continue;  // ends 2 s after the last event
}
