#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "uv/descriptor.hpp"
#include "uv/handle.hpp"

namespace quorumlock::uv {

/// A stream connection on a loop: TCP by host name or address, or a unix socket.
///
/// Sends with MSG_NOSIGNAL on a socket of its own under uv_poll, since uv_try_write of libuv 1.44
/// raises SIGPIPE on a closed peer.
class Socket {
 public:
  /// The callbacks of a socket, called on the loop; on_closed() may be called inside connect_tcp()
  /// and connect_unix(). Each may close() the socket.
  class Events {
   public:
    virtual ~Events() = default;
    virtual void on_open() = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    /// The kernel can take more bytes, after a write() that it took only in part.
    virtual void on_writable() = 0;
    /// The connection, or the attempt, has ended; the socket is closed.
    virtual void on_closed(std::string_view why) = 0;
  };

  Socket(uv_loop_t* loop, Open& open, Events& events);
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Connects to `host`. A host name is resolved on libuv's pool; its addresses are tried one after
  /// the other.
  void connect_tcp(const std::string& host, int port);
  void connect_unix(const std::string& path);
  /// Returns how many bytes the kernel took. If these are not all, on_open(), on_writable() or
  /// on_closed() follows.
  std::size_t write(std::string_view bytes);
  /// Reads what has arrived, when the loop reports input or before that. Returns false if no bytes
  /// have arrived.
  bool read();
  /// Closes the connection. No callback is called any more.
  void close();

 private:
  struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
  };
  struct Resolution;

  void on_resolved(int status, const addrinfo* found);
  void try_next(std::string why_not);
  void on_ready(int status, int events);
  void on_connected();
  void end(std::string why);

  uv_loop_t* loop_;
  Open& open_;
  Events& events_;
  Resolution* resolution_ = nullptr;
  std::vector<Address> addresses_;  // still to be tried, the last one first
  Descriptor fd_;
  std::unique_ptr<Poll> poll_;
  bool connecting_ = false;
  bool blocked_ = false;  // the kernel's buffer is full
};

}  // namespace quorumlock::uv
