#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "uv/descriptor.hpp"
#include "uv/handle.hpp"
#include "uv/names.hpp"
#include "uv/race.hpp"
#include "uv/timer.hpp"

namespace quorumlock::uv {

/// A stream connection on a loop: TCP by host name or address, or a unix socket.
///
/// Sends with MSG_NOSIGNAL on a socket of its own under uv_poll, since uv_try_write of libuv 1.44
/// raises SIGPIPE on a closed peer.
class Socket final : Name::Seeker {
 public:
  /// The callbacks of a socket, called on the loop; on_awaiting() and on_closed() may be called
  /// inside connect_tcp() and connect_unix(). Each may close() the socket.
  class Events {
   public:
    virtual ~Events() = default;
    /// Whom the attempt to reach a host by its name waits for, as a part of a sentence.
    virtual void on_awaiting(std::string_view) {}
    virtual void on_open() = 0;
    virtual void on_bytes(std::string_view bytes) = 0;
    /// The kernel can take more bytes, after a write() that it took only in part.
    virtual void on_writable() = 0;
    /// The connection, or the attempt, has ended; the socket is closed.
    virtual void on_closed(std::string_view why) = 0;
  };

  /// `within` is how long an attempt to connect may take: the caller ends it then, and all
  /// addresses of a host get their turn before that. `names` outlives the socket.
  Socket(uv_loop_t* loop, Open& open, Names& names, Clock::duration within, Events& events);
  ~Socket() override { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Connects to an address, or to one of those that a host name has.
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
  /// An address that is being connected to.
  struct Attempt {
    Address address;
    Descriptor fd;
    std::unique_ptr<Poll> poll;
  };

  void on_addresses(std::span<const Address> some) override;
  void on_answer(const Resolved& answer) override;
  void connect_to(const Address& address);
  void race();
  void begin(const Address& address);
  void failed(const Address& address, int error);
  void on_ready(int fd, int status, int events);
  void on_connected(Attempt& attempt);
  void end(std::string why);

  uv_loop_t* loop_;
  Open& open_;
  Names& names_;
  Clock::duration within_;
  Events& events_;
  int port_ = 0;
  std::shared_ptr<Name> name_;  ///< the name that was connected to last
  std::optional<Race> race_;    ///< set while there is no connection, but an attempt at one
  std::list<Attempt> attempts_;
  std::optional<Timer> timer_;  ///< for the race of a name's addresses
  Address address_;             ///< where the connection leads to
  Descriptor fd_;
  std::unique_ptr<Poll> poll_;
  bool heard_ = false;    ///< bytes have come on this connection
  bool blocked_ = false;  ///< the kernel's buffer is full
};

}  // namespace quorumlock::uv
