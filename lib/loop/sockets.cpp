#include "loop/sockets.hpp"

#include <new>
#include <stop_token>
#include <system_error>
#include <utility>

#include "loop/wall_clock.hpp"

namespace quorumlock::detail {

Sockets::Sockets(const Options& options, Session& session, uv_loop_t* loop, uv::Open& open,
                 std::function<void()> on_input)
    : session_(session),
      loop_(loop),
      open_(open),
      on_input_(std::move(on_input)),
      connect_timeout_(options.connect_timeout),
      logins_(loop, open, *this, options.credentials),
      names_([loop, &open] { return uv::lookup_on(loop, open); }) {}

void Sockets::carry_out(const Session::Connect& connect) {
  const int node = node_of(connect.wire);
  const redis::Link& its = session_.link(node);
  const bool refused = its.reason() == Vote::unauthorized;
  session_.wire(connect.wire)
      .on_awaiting(its.endpoint().password_file.empty() ? "the callback for credentials"
                                                        : "its password file");
  if (logins_.may_connect(Clock::now(), connect.wire, node, its.endpoint(), refused)) {
    on_ready(connect.wire);
  }
}

void Sockets::carry_out(const Session::Disconnect& disconnect) {
  logins_.forget_wire(disconnect.wire);
  if (const auto& socket = sockets_[static_cast<std::size_t>(disconnect.wire)])
    socket->disconnect();
}

void Sockets::follow(const Session::ListChanged& changed) {
  for (const int wire : changed.wires) {
    sockets_[static_cast<std::size_t>(wire)].reset();
    logins_.forget_node(node_of(wire));
  }
  logins_.keep(session_.nodes());
}

bool Sockets::read_overdue(core::Time now) {
  bool came = false;
  session_.each_wire_in_use([&](int wire) {
    const auto& socket = sockets_[static_cast<std::size_t>(wire)];
    if (socket != nullptr && session_.is_due(wire, now) && socket->read()) came = true;
  });
  return came;
}

void Sockets::flush() {
  session_.each_wire_in_use([this](int wire) {
    if (const auto& socket = sockets_[static_cast<std::size_t>(wire)]) socket->flush();
  });
}

void Sockets::close() {
  logins_.close();
  names_.close();
  for (const auto& socket : sockets_) {
    if (socket != nullptr) socket->close();
  }
}

void Sockets::on_events(int wire) {
  session_.touched(wire);
  on_input_();
}

void Sockets::on_ready(int wire) {
  std::unique_ptr<Socket>& socket = sockets_[static_cast<std::size_t>(wire)];
  if (socket == nullptr) socket = std::make_unique<Socket>(wire, *this);
  socket->connect();
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

void Sockets::on_note(int node, const std::string& why) {
  session_.link(node).note(why);
  on_events(node);
}

// The socket of one wire.

Sockets::Socket::Socket(int wire, Sockets& sockets)
    : number_(wire),
      sockets_(sockets),
      wire_(sockets.session_.wire(wire)),
      socket_(sockets.loop_, sockets.open_, sockets.names_, sockets.connect_timeout_, *this) {
  const redis::Endpoint& endpoint = wire_.endpoint();
  if (endpoint.tls) secure_.emplace(wire_, sockets.contexts_);
  if (endpoint.sentinels) {
    lookup_.emplace(
        endpoint, sockets.loop_, sockets.open_, sockets.names_, sockets.connect_timeout_,
        sockets.contexts_,
        [this](const redis::PrimaryPoll& poll) { wire_.on_awaiting(poll.awaited()); },
        [this](const redis::PrimaryPoll& poll) { on_primary(poll); });
  }
}

void Sockets::Socket::connect() {
  const redis::Endpoint& endpoint = wire_.endpoint();
  if (secure_ && tls::Files::are_named_by(*endpoint.tls)) return read_files(*endpoint.tls);
  reach();
}

void Sockets::Socket::read_files(const TlsOptions& options) {
  wanted_ = true;
  wire_.on_awaiting("the files of its TLS options");
  if (reading_ != nullptr) return;
  auto files = std::make_shared<std::shared_ptr<const tls::Files>>();
  const auto read = [files, options,
                     last = sockets_.contexts_.files(options)](const std::stop_token&) {
    try {
      *files = tls::Files::read(options, last);
    } catch (const std::bad_alloc&) {  // what was read last is used
    }
  };
  try {
    reading_ =
        std::make_unique<uv::Work>(sockets_.loop_, sockets_.open_, read, [this, files, options] {
          reading_.reset();
          // What is wrong with them is the error of SecureWire::begin().
          if (*files != nullptr) (void)sockets_.contexts_.take(options, std::move(*files));
          if (std::exchange(wanted_, false)) reach();
        });
  } catch (const std::system_error& error) {
    wanted_ = false;
    wire_.on_closed(Clock::now(), std::string("the files of its TLS options: ") + error.what());
    sockets_.on_events(number_);
  }
}

void Sockets::Socket::reach() {
  if (lookup_) return lookup_->ask();
  wire_.on_awaiting("");
  const redis::Endpoint& endpoint = wire_.endpoint();
  if (endpoint.path.empty()) {
    connect_tcp(endpoint.host, endpoint.port);
  } else {
    socket_.connect_unix(endpoint.path);
  }
}

void Sockets::Socket::connect_tcp(const std::string& host, int port) {
  if (secure_ && !secure_->begin(Clock::now(), SystemWallClock().now_s(), host)) {
    return sockets_.on_events(number_);
  }
  if (lookup_) wire_.on_awaiting(redis::HostPort{host, port}.text());
  socket_.connect_tcp(host, port);
}

void Sockets::Socket::on_primary(const redis::PrimaryPoll& poll) {
  if (poll.primary()) {
    primary_ = poll.primary();
    return connect_tcp(primary_->host, primary_->port);
  }
  wire_.on_closed(Clock::now(), poll.why_not());
  sockets_.on_events(number_);
}

void Sockets::Socket::disconnect() {
  wanted_ = false;
  if (lookup_) lookup_->close();
  if (secure_) {
    secure_->end();
    socket_.write(secure_->output());  // nothing more is done if the socket does not take it
  }
  socket_.close();
}

void Sockets::Socket::flush() {
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

void Sockets::Socket::on_open() {
  if (secure_) {
    secure_->on_open();
  } else {
    wire_.on_open();
  }
  flush();
}

void Sockets::Socket::on_bytes(std::string_view bytes) {
  if (secure_) {
    secure_->on_bytes(Clock::now(), bytes);
  } else {
    wire_.on_bytes(bytes);
  }
  sockets_.on_events(number_);
}

void Sockets::Socket::on_writable() {
  flush();
}

void Sockets::Socket::on_closed(std::string_view why) {
  if (secure_) {
    secure_->on_closed(Clock::now(), why);
  } else {
    wire_.on_closed(Clock::now(), why);
  }
  sockets_.on_events(number_);
}

}  // namespace quorumlock::detail
