#pragma once

#include "redis/wire.hpp"
#include "uv/socket.hpp"

namespace quorumlock::client {

/// The socket of one of a session's wires, which carries out what that asks for.
class Node final : public uv::Socket::Events {
 public:
  /// Where a wire may have got something to say.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_events(int wire) = 0;
  };

  Node(int index, redis::Wire& wire, uv_loop_t* loop, uv::Open& open, Listener& listener)
      : index_(index), wire_(wire), socket_(loop, open, *this), listener_(listener) {}

  void connect();
  void disconnect() { socket_.close(); }
  /// Writes what the wire has to say, once a turn.
  void flush();
  /// Reads some of what has come, without waiting for the loop's turn; false where nothing has.
  bool read() { return socket_.read(); }

 private:
  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_writable() override;
  void on_closed(std::string_view why) override;

  int index_;
  redis::Wire& wire_;
  uv::Socket socket_;
  Listener& listener_;
};

}  // namespace quorumlock::client
