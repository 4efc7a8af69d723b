#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace quorumlock::test {

struct HttpAnswer {
  int status = 0;
  /// Indexed by the name in lower case; of several, the last.
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A connection to an HTTP server on 127.0.0.1 that a test writes and reads as it likes. A call
/// throws std::runtime_error if nothing comes within `patience`.
class HttpConnection {
 public:
  explicit HttpConnection(int port);
  HttpConnection(HttpConnection&& other) noexcept;
  HttpConnection& operator=(HttpConnection&&) = delete;
  ~HttpConnection();

  void send(const std::string& text);
  /// Sends a request; `headers` are lines, each with its end. A Host is added if there is none.
  void ask(const std::string& method, const std::string& path, const std::string& headers = {});
  /// Reads the reply, which ends when the connection does.
  HttpAnswer answer();
  /// Reads until the next server-sent event of that name, and returns its data.
  nlohmann::json event(const std::string& name);
  /// Reads to the end; false if the other side has not closed the connection.
  bool ends();

 private:
  bool read_some();
  std::string line();

  int port_;
  int socket_;
  std::string unread_;
};

}  // namespace quorumlock::test
