#pragma once

#include "redis/link.hpp"
#include "uv/socket.hpp"

namespace quorumlock::client {

/// One configured node: its link, and the socket that carries out what the link asks for.
class Node final : public uv::Socket::Events {
 public:
  /// Where a node's link has got something to say.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// Pull the link's events: call Node::pump().
    virtual void on_events(Node& node) = 0;
  };

  Node(int index, redis::Link::Config config, uv_loop_t* loop, uv::Open& open, core::Random& random,
       Listener& listener);

  [[nodiscard]] int index() const { return index_; }
  redis::Link& link() { return link_; }
  [[nodiscard]] const redis::Link& link() const { return link_; }

  /// The link's next event that is not about the socket, which is dealt with here.
  std::optional<redis::Link::Event> next_event(core::Time now);
  /// Writes what the link has to say, once a turn.
  void flush();

 private:
  void connect();
  void on_open() override;
  void on_bytes(std::string_view bytes) override;
  void on_writable() override;
  void on_closed(std::string_view why) override;

  int index_;
  redis::Link link_;
  uv::Socket socket_;
  Listener& listener_;
};

}  // namespace quorumlock::client
