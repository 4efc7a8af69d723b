#pragma once

#include <optional>

#include "loop/primary_lookup.hpp"
#include "loop/secure_wire.hpp"
#include "redis/wire.hpp"
#include "uv/socket.hpp"

namespace quorumlock::detail {

/// The socket of one of a session's wires, which carries out the wire's events.
class Node final : public uv::Socket::Events {
 public:
  /// Is called when a wire may have events.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_events(int wire) = 0;
  };

  Node(int index, redis::Wire& wire, tls::Contexts& contexts, uv_loop_t* loop, uv::Open& open,
       Listener& listener);

  void connect();
  void disconnect();
  /// Writes the wire's output, once a turn.
  void flush();
  /// Reads some received bytes without waiting for the loop's turn; false if there are none.
  bool read() { return socket_.read(); }

 private:
  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_writable() override;
  void on_closed(std::string_view why) override;
  void on_primary(const redis::PrimaryPoll& poll);

  int index_;
  redis::Wire& wire_;
  std::optional<SecureWire> secure_;  ///< between the wire and the socket, if the URL is rediss://
  std::optional<PrimaryLookup> lookup_;  ///< if the URL is redis+sentinel://
  uv::Socket socket_;
  Listener& listener_;
};

}  // namespace quorumlock::detail
