#include "loop/sockets.hpp"

#include <utility>

namespace quorumlock::detail {

Sockets::Sockets(const Options& options, Session& session, uv_loop_t* loop, uv::Open& open,
                 std::function<void()> on_input)
    : options_(options),
      session_(session),
      loop_(loop),
      open_(open),
      on_input_(std::move(on_input)),
      logins_(loop, open, *this, options.credentials) {}

void Sockets::carry_out(const Session::Connect& connect) {
  const int node = node_of(connect.wire);
  const redis::Link& its = session_.link(node);
  const bool refused = its.reason() == Vote::unauthorized;
  if (logins_.may_connect(Clock::now(), connect.wire, node, its.endpoint(), refused)) {
    on_ready(connect.wire);
  }
}

void Sockets::carry_out(const Session::Disconnect& disconnect) {
  logins_.forget_wire(disconnect.wire);
  if (const auto& node = wires_[static_cast<std::size_t>(disconnect.wire)]) node->disconnect();
}

void Sockets::follow(const Session::ListChanged& changed) {
  for (const int wire : changed.wires) {
    wires_[static_cast<std::size_t>(wire)].reset();
    logins_.forget_node(node_of(wire));
  }
  logins_.keep(session_.nodes());
}

bool Sockets::read_overdue(core::Time now) {
  bool came = false;
  session_.each_wire_in_use([&](int wire) {
    const auto& node = wires_[static_cast<std::size_t>(wire)];
    if (node != nullptr && session_.is_due(wire, now) && node->read()) came = true;
  });
  return came;
}

void Sockets::flush() {
  session_.each_wire_in_use([this](int wire) {
    if (const auto& node = wires_[static_cast<std::size_t>(wire)]) node->flush();
  });
}

void Sockets::on_events(int wire) {
  session_.touched(wire);
  on_input_();
}

void Sockets::on_ready(int wire) {
  std::unique_ptr<Node>& node = wires_[static_cast<std::size_t>(wire)];
  if (node == nullptr) {
    node = std::make_unique<Node>(wire, session_.wire(wire), contexts_, loop_, open_, *this);
  }
  node->connect();
}

void Sockets::on_login(int node, const redis::Login& login) {
  for (const int wire : {node, subscriber_of(node)}) {
    session_.wire(wire).log_in(Clock::now(), login);
  }
  on_events(node);
}

void Sockets::on_no_login(int wire, const std::string& why) {
  session_.wire(wire).on_no_login(Clock::now(), why);
  on_events(wire);
}

void Sockets::on_note(const std::string& sentence) {
  if (options_.log) options_.log(sentence);
}

}  // namespace quorumlock::detail
