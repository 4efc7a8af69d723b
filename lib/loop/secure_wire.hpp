#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tls/contexts.hpp"
#include "wire/wire.hpp"

namespace quorumlock::detail {

/// TLS between a wire and its socket, as a state machine: the wire sees plain text only, and is
/// open once the handshake is done.
class SecureWire {
 public:
  SecureWire(redis::Wire& wire, tls::Contexts& contexts) : wire_(wire), contexts_(contexts) {}

  /// Prepares a connection to `host`; `wall_time` is in seconds since 1970. If certificates or keys
  /// of ours cannot be used, reports that to the wire and returns false.
  bool begin(core::Time now, std::int64_t wall_time, const std::string& host);
  /// The socket is open.
  void on_open();
  void on_bytes(core::Time now, std::string_view bytes);
  /// The socket is closed.
  void on_closed(core::Time now, std::string_view why);
  /// Encrypts some of the wire's output if there is nothing else to be sent.
  void encrypt();
  /// Ends the connection: output() is what the peer should still get.
  void end();

  [[nodiscard]] std::string_view output() const {
    return channel_ == nullptr ? std::string_view() : channel_->output();
  }
  void wrote(std::size_t bytes) { channel_->wrote(bytes); }

 private:
  redis::Wire& wire_;
  tls::Contexts& contexts_;
  tls::Resumption last_;
  std::string host_;  ///< the host of `last_`: Sentinels may report another
  std::unique_ptr<tls::Channel> channel_;
  bool shaking_hands_ = false;  ///< the socket is open
  bool heard_ = false;          ///< plain text has come from the node
  bool open_ = false;           ///< the wire knows that the connection is open
};

}  // namespace quorumlock::detail
