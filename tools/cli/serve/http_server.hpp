#pragma once

#include <atomic>
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
    std::thread thread;
    std::atomic<bool> ended = false;
  };
  /// Returns false if there is nothing left to accept a connection with.
  bool accept_one();
  void answer(int socket);
  void join_ended();

  const HttpSite site_;
  TlsServer* const tls_;
  std::string url_;
  int listening_ = -1;
  Event stopping_;
  Event one_ended_;
  std::list<Connection> connections_;
};

}  // namespace quorumlock::cli
