#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/fixture.hpp"
#include "cli/http_client.hpp"

namespace quorumlock::test {

/// A running `quorumlock serve`, on a port of its own.
class Server {
 public:
  explicit Server(Program program) : program_(std::move(program)) {
    url_ = json::parse(program_.line()).at("listening").get<std::string>();
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] int port() const { return std::stoi(url_.substr(url_.rfind(':') + 1)); }
  HttpAnswer ask(const std::string& method, const std::string& path,
                 const std::string& headers = {}) const {
    HttpConnection connection(port());
    connection.ask(method, path, headers);
    return connection.answer();
  }
  HttpAnswer get(const std::string& path, const std::string& headers = {}) const {
    return ask("GET", path, headers);
  }
  /// Opens a stream of events.
  HttpConnection watch(const std::string& query = {}) const {
    HttpConnection connection(port());
    connection.ask("GET", "/api/events" + query);
    return connection;
  }
  Program& program() { return program_; }

 private:
  Program program_;
  std::string url_;
};

/// `serve` with three nodes of the test's own.
class ServeCommand : public CommandLine {
 protected:
  using CommandLine::CommandLine;

  [[nodiscard]] Server serve(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"--json", "serve", "--listen", "127.0.0.1:0"});
    return Server(start(flags));
  }
  /// Acquires, and returns the owner token.
  std::string acquired(const std::string& resource) {
    const Ended ended = run({"acquire", "--ttl", "30s", resource});
    EXPECT_EQ(ended.code, 0) << ended.err;
    return ended.out.substr(0, ended.out.find('\n'));
  }
};

}  // namespace quorumlock::test
