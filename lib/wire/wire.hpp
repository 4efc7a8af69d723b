#pragma once

#include <string_view>

#include "lock/types.hpp"
#include "wire/endpoint.hpp"

namespace quorumlock::redis {

/// A connection as seen by the code that moves its bytes. Its state machine decides when to open
/// and when to close it.
class Wire {
 public:
  virtual ~Wire() = default;
  [[nodiscard]] virtual const Endpoint& endpoint() const = 0;
  /// Whom the attempt to connect waits for, for a sentence; empty: the endpoint itself.
  virtual void on_awaiting(std::string_view whom) = 0;
  virtual void on_open() = 0;
  virtual void on_closed(core::Time now, std::string_view why) = 0;
  /// The socket is open, and the TLS handshake begins; on_open() follows it.
  virtual void on_handshake() = 0;
  /// No secure connection to this node can be made, or the peer has broken the rules of TLS. The
  /// socket may still be open.
  virtual void on_handshake_failed(core::Time now, std::string_view why) = 0;
  /// Sets what to log in with from now on, in place of the endpoint's own login.
  virtual void log_in(core::Time now, const Login& login) = 0;
  /// There is nothing to log in with, so that the connection is not opened.
  virtual void on_no_login(core::Time now, std::string_view why) = 0;
  virtual void on_bytes(std::string_view bytes) = 0;
  /// The bytes to be written, from the front; wrote() reports how many of them were.
  [[nodiscard]] virtual std::string_view output() const = 0;
  virtual void wrote(std::size_t bytes) = 0;
};

}  // namespace quorumlock::redis
