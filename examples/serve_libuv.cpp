// A server on a libuv loop: POST /orders/N is handled under the lock orders:N.
#include <uv.h>

#include <iostream>
#include <quorumlock/quorumlock.hpp>

#include "http_on_libuv.hpp"

using namespace std::chrono_literals;

int main() {
  uv_loop_t* loop = uv_default_loop();  // the program's own; the coordinator starts no thread
  const auto options = quorumlock::Options::from_env().value();
  auto locks = quorumlock::Coordinator::attach(loop, options).value();
  HttpServer server(loop, [&](HttpClient* client, const std::string& asked) {
    if (asked.starts_with("GET /healthz ")) {
      return locks.async_status([client](const auto& status) {
        client->answer(status && status->has_quorum() ? "200 OK" : "503 Service Unavailable");
      });
    }
    if (!asked.starts_with("POST /orders/")) return client->answer("404 Not Found");
    const std::string order = "orders:" + asked.substr(13, asked.find(' ', 13) - 13);
    locks.async_acquire(order, {.wait = 500ms}, [client](const auto& lease) {
      if (lease) return client->answer("200 OK");  // the work goes here; then the lease is released
      const std::error_code why = lease.error().code();  // held by another, or too few nodes
      const bool held = why == quorumlock::Errc::contended || why == quorumlock::Errc::timed_out;
      client->answer(held ? "423 Locked" : "503 Service Unavailable");
    });
  });
  uv_signal_t ending;
  uv_signal_init(loop, &ending);
  uv_unref(reinterpret_cast<uv_handle_t*>(&ending));
  ending.data = &server;
  uv_signal_start(
      &ending, [](uv_signal_t* it, int) { static_cast<HttpServer*>(it->data)->stop(); }, SIGTERM);
  std::cout << "port " << server.port() << std::endl;
  uv_run(loop, UV_RUN_DEFAULT);  // returns when the requests under way are answered
  locks.async_close([] {});
  uv_run(loop, UV_RUN_DEFAULT);
}
