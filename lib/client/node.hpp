#pragma once

#include "redis/link.hpp"
#include "uv/socket.hpp"

namespace quorumlock::client {

/// The socket of one node, which carries out what the node's link asks for.
class Node final : public uv::Socket::Events {
 public:
  /// Where a node's link may have got something to say.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_events(int node) = 0;
  };

  Node(int index, redis::Link& link, uv_loop_t* loop, uv::Open& open, Listener& listener)
      : index_(index), link_(link), socket_(loop, open, *this), listener_(listener) {}

  void connect();
  void disconnect() { socket_.close(); }
  /// Writes what the link has to say, once a turn.
  void flush();

 private:
  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_writable() override;
  void on_closed(std::string_view why) override;

  int index_;
  redis::Link& link_;
  uv::Socket socket_;
  Listener& listener_;
};

}  // namespace quorumlock::client
