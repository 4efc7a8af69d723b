#pragma once

#include <atomic>
#include <cstddef>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "support/cluster.hpp"

namespace quorumlock::test {

/// What a hostile server does on each connection, in this order.
struct Hostility {
  std::string name;
  std::string at_once = {};   ///< sent before anything is asked
  std::string to_each = {};   ///< the reply to each command, whatever it is
  std::string endless = {};   ///< then sent again and again, as fast as the client takes it
  std::size_t piece = 65536;  ///< most bytes of one write
  bool closes = false;        ///< closes the connection once something was sent
};

inline void PrintTo(const Hostility& hostility, std::ostream* out) {
  *out << hostility.name;
}

/// A server on a unix socket that is not Redis at all.
class HostileServer {
 public:
  explicit HostileServer(Hostility hostility);
  ~HostileServer();
  HostileServer(const HostileServer&) = delete;
  HostileServer& operator=(const HostileServer&) = delete;

  [[nodiscard]] std::string url() const;
  /// The number of connections that the client has ended.
  [[nodiscard]] int dropped() const { return dropped_; }
  /// The most bytes that went out on one connection.
  [[nodiscard]] std::size_t most_sent() const { return most_sent_; }

 private:
  struct Connection {
    int fd = -1;
    std::string out = {};  ///< still to be sent
    std::size_t sent = 0;
    std::string last_two = "\r\n";  ///< the last two bytes that came in
  };

  void run();
  void accept();
  /// Each returns whether the connection goes on.
  bool read(Connection& connection);
  bool write(Connection& connection);
  [[nodiscard]] bool has_more(const Connection& connection) const;

  const Hostility hostility_;
  TemporaryDirectory directory_;
  int listener_ = -1;
  int stop_ = -1;
  std::vector<Connection> connections_;
  std::atomic<int> dropped_ = 0;
  std::atomic<std::size_t> most_sent_ = 0;
  std::thread thread_;
};

}  // namespace quorumlock::test
