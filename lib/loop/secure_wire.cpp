#include "loop/secure_wire.hpp"

#include <array>
#include <string>

namespace quorumlock::detail {
namespace {

/// The most plain text that is encrypted before the socket has taken it: what waits for a slow node
/// waits in the wire.
constexpr std::size_t most_at_once = std::size_t{256} << 10;
/// The longest plain text of a TLS record.
constexpr std::size_t longest_record = std::size_t{16} << 10;

}  // namespace

bool SecureWire::begin(core::Time now, std::int64_t wall_time, const std::string& host) {
  if (host != host_) last_ = {};
  host_ = host;
  open_ = shaking_hands_ = heard_ = false;
  channel_.reset();
  Result<std::unique_ptr<tls::Channel>> channel =
      contexts_.connect(*wire_.endpoint().tls, host, wall_time, last_);
  if (!channel) {
    wire_.on_handshake_failed(now, std::string("is not connected to: ") + channel.error().what());
    return false;
  }
  channel_ = *std::move(channel);
  return true;
}

void SecureWire::on_open() {
  shaking_hands_ = true;
  wire_.on_handshake();
}

void SecureWire::on_bytes(core::Time now, std::string_view bytes) {
  if (channel_ == nullptr) return;
  std::array<char, longest_record> plain;
  channel_->on_bytes(bytes);
  for (;;) {
    const std::size_t size = channel_->read(plain);
    if (!open_ && channel_->state() == tls::Channel::State::open) {
      open_ = true;
      wire_.on_open();
    }
    if (size == 0) break;
    heard_ = true;
    wire_.on_bytes({plain.data(), size});
  }
  if (channel_->state() == tls::Channel::State::failed) {
    wire_.on_handshake_failed(now, channel_->why());
  } else if (channel_->state() == tls::Channel::State::closed) {
    on_closed(now, "the node closed the connection");
  }
}

void SecureWire::on_closed(core::Time now, std::string_view why) {
  // With TLS 1.3 our end of the handshake is done before the node has seen our certificate.
  const bool lacks_certificate = channel_ != nullptr && channel_->lacks_certificate();
  if (!shaking_hands_ || (open_ && (heard_ || !lacks_certificate))) {
    return wire_.on_closed(now, why);
  }
  std::string sentence = "broke off the TLS handshake (" + std::string(why) + ')';
  sentence += lacks_certificate
                  ? ": perhaps it wants a client certificate (tls.cert_file and tls.key_file)"
                  : ": does this port speak TLS?";
  wire_.on_handshake_failed(now, sentence);
}

void SecureWire::encrypt() {
  if (!open_ || !channel_->output().empty()) return;
  const std::string_view plain = wire_.output().substr(0, most_at_once);
  if (plain.empty()) return;
  channel_->write(plain);
  wire_.wrote(plain.size());
}

void SecureWire::end() {
  if (channel_ == nullptr) return;
  // If the socket has not taken all commands, nothing may follow these. A failed channel's output
  // is the alert that says why.
  if (channel_->output().empty()) {
    channel_->shut_down();
  } else if (channel_->state() != tls::Channel::State::failed) {
    channel_->wrote(channel_->output().size());
  }
}

}  // namespace quorumlock::detail
