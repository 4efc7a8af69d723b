#include "loop/node.hpp"

namespace quorumlock::detail {

void Node::connect() {
  const redis::Endpoint& endpoint = wire_.endpoint();
  if (endpoint.path.empty()) {
    socket_.connect_tcp(endpoint.host, endpoint.port);
  } else {
    socket_.connect_unix(endpoint.path);
  }
}

void Node::flush() {
  const std::string_view bytes = wire_.output();
  if (bytes.empty()) return;
  if (const std::size_t taken = socket_.write(bytes); taken > 0) wire_.wrote(taken);
}

void Node::on_open() {
  wire_.on_open();
  flush();
}

void Node::on_bytes(std::string_view bytes) {
  wire_.on_bytes(bytes);
  listener_.on_events(index_);
}

void Node::on_writable() {
  flush();
}

void Node::on_closed(std::string_view why) {
  wire_.on_closed(Clock::now(), why);
  listener_.on_events(index_);
}

}  // namespace quorumlock::detail
