#include "client/node.hpp"

namespace quorumlock::client {

Node::Node(int index, redis::Link::Config config, uv_loop_t* loop, uv::Open& open,
           core::Random& random, Listener& listener)
    : index_(index),
      link_(std::move(config), random),
      socket_(loop, open, *this),
      listener_(listener) {}

std::optional<redis::Link::Event> Node::next_event(core::Time now) {
  for (;;) {
    std::optional<redis::Link::Event> event = link_.next(now);
    if (!event) return event;
    if (std::holds_alternative<redis::Link::Connect>(*event)) {
      connect();
    } else if (std::holds_alternative<redis::Link::Disconnect>(*event)) {
      socket_.close();
    } else {
      return event;
    }
  }
}

void Node::connect() {
  const redis::Endpoint& endpoint = link_.endpoint();
  if (endpoint.path.empty()) {
    socket_.connect_tcp(endpoint.host, endpoint.port);
  } else {
    socket_.connect_unix(endpoint.path);
  }
}

void Node::flush() {
  const std::string_view bytes = link_.output();
  if (bytes.empty()) return;
  if (const std::size_t taken = socket_.write(bytes); taken > 0) link_.wrote(taken);
}

void Node::on_open() {
  link_.on_open();
  flush();
}

void Node::on_bytes(std::string_view bytes) {
  link_.on_bytes(bytes);
  listener_.on_events(*this);
}

void Node::on_writable() {
  flush();
}

void Node::on_closed(std::string_view why) {
  link_.on_closed(Clock::now(), why);
  listener_.on_events(*this);
}

}  // namespace quorumlock::client
