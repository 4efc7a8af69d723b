#include "loop/node.hpp"

#include "loop/wall_clock.hpp"

namespace quorumlock::detail {

Node::Node(int index, redis::Wire& wire, tls::Contexts& contexts, uv_loop_t* loop, uv::Open& open,
           Listener& listener)
    : index_(index), wire_(wire), socket_(loop, open, *this), listener_(listener) {
  const redis::Endpoint& endpoint = wire.endpoint();
  if (endpoint.tls) secure_.emplace(wire, contexts);
  if (endpoint.sentinels) {
    lookup_.emplace(*endpoint.sentinels, loop, open,
                    [this](const redis::PrimaryPoll& poll) { on_primary(poll); });
  }
}

void Node::connect() {
  constexpr std::int64_t second_us = 1'000'000;
  if (secure_ && !secure_->begin(Clock::now(), SystemWallClock().now_us() / second_us)) {
    return listener_.on_events(index_);
  }
  if (lookup_) return lookup_->ask();
  const redis::Endpoint& endpoint = wire_.endpoint();
  if (endpoint.path.empty()) {
    socket_.connect_tcp(endpoint.host, endpoint.port);
  } else {
    socket_.connect_unix(endpoint.path);
  }
}

void Node::on_primary(const redis::PrimaryPoll& poll) {
  if (const auto& primary = poll.primary()) {
    return socket_.connect_tcp(primary->host, primary->port);
  }
  wire_.on_closed(Clock::now(), poll.why_not());
  listener_.on_events(index_);
}

void Node::disconnect() {
  if (lookup_) lookup_->close();
  if (secure_) {
    secure_->end();
    socket_.write(secure_->output());  // if the socket takes it
  }
  socket_.close();
}

void Node::flush() {
  if (!secure_) {
    const std::string_view bytes = wire_.output();
    if (bytes.empty()) return;
    if (const std::size_t taken = socket_.write(bytes); taken > 0) wire_.wrote(taken);
    return;
  }
  for (;;) {
    secure_->encrypt();
    const std::string_view bytes = secure_->output();
    if (bytes.empty()) return;
    const std::size_t taken = socket_.write(bytes);
    const bool all = taken == bytes.size();
    if (taken > 0) secure_->wrote(taken);
    if (!all) return;
  }
}

void Node::on_open() {
  if (secure_) {
    secure_->on_open();
  } else {
    wire_.on_open();
  }
  flush();
}

void Node::on_bytes(std::string_view bytes) {
  if (secure_) {
    secure_->on_bytes(Clock::now(), bytes);
  } else {
    wire_.on_bytes(bytes);
  }
  listener_.on_events(index_);
}

void Node::on_writable() {
  flush();
}

void Node::on_closed(std::string_view why) {
  if (secure_) {
    secure_->on_closed(Clock::now(), why);
  } else {
    wire_.on_closed(Clock::now(), why);
  }
  listener_.on_events(index_);
}

}  // namespace quorumlock::detail
