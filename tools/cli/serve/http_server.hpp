#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <string>
#include <thread>

#include "event.hpp"
#include "serve/http.hpp"
#include "serve/listen_address.hpp"
#include "serve/tls.hpp"

namespace quorumlock::cli {

/// A small HTTP server, for a page and for scrapers: one request per connection, a thread for each,
/// and a bound on everything that a client could make it wait for or keep.
///
/// Newcomers, whose request has not been let in yet (HttpRequest::let_in), have few places and
/// little time. If these places are taken, the oldest newcomer gives way to the next client, so
/// that silent connections cannot keep out a client with a token.
class HttpServer {
 public:
  /// Listens from now on; connections are answered by serve_until_readable(), and only over TLS if
  /// `tls` is not null. Throws Failure if the port is in use.
  HttpServer(const ListenAddress& address, HttpSite site, TlsServer* tls = nullptr);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Breaks off the requests that are still being answered. Anything that the site waits for must
  /// have ended before.
  ~HttpServer();

  /// Returns the URL, such as "http://127.0.0.1:9470/".
  [[nodiscard]] const std::string& url() const { return url_; }
  /// Answers until `fd` is readable. Throws Failure if it cannot go on.
  void serve_until_readable(int fd);

 private:
  struct Connection {
    explicit Connection(int accepted) : socket(accepted) {}
    const int socket;  ///< closed after the thread has ended: others may shut it down until then
    const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
    std::thread thread;
    std::atomic<bool> let_in = false;
    std::atomic<bool> ended = false;
  };
  /// Accepts the next client if there is room for it. Returns for how many milliseconds no other
  /// can be accepted; -1: until there is news.
  int accept_one();
  /// Makes room for a newcomer if it can. Returns the same as accept_one().
  int rest_without_room();
  void answer(Connection& connection);
  void join_ended();

  const HttpSite site_;
  TlsServer* const tls_;
  std::string url_;
  int listening_ = -1;
  Event stopping_;
  Event news_;  ///< a connection has been let in or has ended
  std::list<Connection> connections_;
};

}  // namespace quorumlock::cli
