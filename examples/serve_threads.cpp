// A server on threads (cpp-httplib): POST /orders/N is handled under the lock orders:N.
#include <httplib.h>
#include <signal.h>

#include <iostream>
#include <quorumlock/quorumlock.hpp>
#include <thread>

using namespace std::chrono_literals;
using quorumlock::Errc;

int main() {
  sigset_t ending;  // blocked before any thread begins, and awaited below
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  auto locks = quorumlock::Coordinator::create(quorumlock::Options::from_env().value()).value();
  httplib::Server server;
  server.Post(R"(/orders/(\d+))", [&](const httplib::Request& asked, httplib::Response& answer) {
    const std::string order = "orders:" + asked.matches[1].str();
    const auto lease = locks.acquire(order, {.ttl = 10s, .wait = 500ms});  // the request's budget
    if (lease) return;  // 200; the work goes here, and the lease is released after it
    const std::error_code why = lease.error().code();  // held by another, or too few nodes
    answer.status = why == Errc::contended || why == Errc::timed_out ? 423 : 503;
    answer.set_content(lease.error().what(), "text/plain");
  });
  server.Get("/healthz", [&](const httplib::Request&, httplib::Response& answer) {
    const auto status = locks.status();
    answer.status = status && status->has_quorum() ? 200 : 503;
  });
  std::cout << "port " << server.bind_to_any_port("127.0.0.1") << std::endl;
  const std::jthread stopper([&] {
    int number = 0;
    sigwait(&ending, &number);
    server.stop();
  });
  server.listen_after_bind();  // returns when the requests under way are answered
}  // leases that are left are released
