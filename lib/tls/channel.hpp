#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace quorumlock::tls {

/// The client's end of one TLS connection, as a state machine without socket, clock or thread:
/// received bytes in, bytes to be sent and plain text out. Contexts makes it, with the first bytes
/// of the handshake in output().
class Channel {
 public:
  enum class State {
    handshaking,
    open,
    closed,  ///< the peer has ended the connection as TLS demands, with close_notify
    failed,  ///< see why()
  };

  virtual ~Channel() = default;

  [[nodiscard]] virtual State state() const = 0;
  /// Why the connection failed, in words that may follow the node's name.
  [[nodiscard]] virtual const std::string& why() const = 0;
  /// Whether the handshake was shortened by what an earlier connection left.
  [[nodiscard]] virtual bool resumed() const = 0;
  /// Whether the node has asked for a client's certificate, and we have none.
  [[nodiscard]] virtual bool lacks_certificate() const = 0;

  /// Takes received bytes, which must stay valid until read() has returned 0.
  virtual void on_bytes(std::string_view bytes) = 0;
  /// Goes on with the handshake, or decrypts. Returns the number of bytes of plain text written to
  /// `into`; with 0 all that was received has been used, or the connection has ended.
  virtual std::size_t read(std::span<char> into) = 0;
  /// Encrypts the whole of this plain text; only while open.
  virtual void write(std::string_view plain) = 0;
  /// Appends close_notify to output(), if open; nothing can be written afterwards.
  virtual void shut_down() = 0;

  /// The bytes to be sent, from the front; wrote() reports how many of them were.
  [[nodiscard]] virtual std::string_view output() const = 0;
  virtual void wrote(std::size_t bytes) = 0;
};

/// The session that a connection to a node leaves to the next connection to the same node, so that
/// its handshake is shorter. Must outlive the channels that it is given to.
struct Resumption {
  std::shared_ptr<void> session = nullptr;
  std::shared_ptr<const void> context = nullptr;  ///< the one that the session was made with
};

}  // namespace quorumlock::tls
