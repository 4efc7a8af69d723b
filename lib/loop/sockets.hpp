#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "loop/logins.hpp"
#include "loop/primary_lookup.hpp"
#include "loop/secure_wire.hpp"
#include "loop/session.hpp"
#include "uv/socket.hpp"
#include "uv/work.hpp"

namespace quorumlock::detail {

/// The sockets of a session's wires, and what they log in with.
class Sockets final : Logins::Listener {
 public:
  /// `on_input` is called whenever a wire may have events. `session` outlives this object.
  Sockets(const Options& options, Session& session, uv_loop_t* loop, uv::Open& open,
          std::function<void()> on_input);

  void carry_out(const Session::Connect& connect);
  void carry_out(const Session::Disconnect& disconnect);
  /// Drops the sockets of the wires that lead to other nodes now.
  void follow(const Session::ListChanged& changed);
  /// Reads from the sockets of nodes that are overdue: if the loop stood still, their answers are
  /// still unread, since the timer may come before the sockets in a turn, and a turn reads only a
  /// part of each socket's bytes. Returns true if bytes came in.
  bool read_overdue(core::Time now);
  void advance(core::Time now) { logins_.advance(now); }
  [[nodiscard]] core::Time deadline() const { return logins_.deadline(); }
  /// Writes the output of all wires, once a turn.
  void flush();
  /// The address that the node's Sentinels have reported last; unset if they have reported none, or
  /// if the node has no Sentinels.
  [[nodiscard]] std::optional<redis::HostPort> primary(int node) const {
    const auto& socket = sockets_[static_cast<std::size_t>(node)];
    return socket == nullptr ? std::nullopt : socket->primary();
  }
  /// Asks for no more logins. The threads that ask for one are told to give up.
  void stop_asking() { logins_.stop(); }
  /// Whether somebody is still asked for a login.
  [[nodiscard]] bool asks() const { return logins_.asks(); }
  /// Waits for no login, no name and no file any more. The session disconnects the wires.
  void close();

 private:
  /// The socket of one wire, which carries out the wire's events.
  class Socket final : public uv::Socket::Events {
   public:
    Socket(int wire, Sockets& sockets);

    void connect();
    void disconnect();
    /// Waits for no file any more.
    void close() { reading_.reset(); }
    /// Writes the wire's output, once a turn.
    void flush();
    /// Reads some received bytes without waiting for the loop's turn; false if there are none.
    bool read() { return socket_.read(); }
    [[nodiscard]] const std::optional<redis::HostPort>& primary() const { return primary_; }

   private:
    void on_awaiting(std::string_view whom) override { wire_.on_awaiting(whom); }
    void on_open() override;
    void on_bytes(std::string_view bytes) override;
    void on_writable() override;
    void on_closed(std::string_view why) override;
    void on_primary(const redis::PrimaryPoll& poll);
    /// Reads the files of the TLS options if they have changed, on a thread, and then connects.
    void read_files(const TlsOptions& options);
    void reach();
    void connect_tcp(const std::string& host, int port);

    int number_;
    Sockets& sockets_;
    redis::Wire& wire_;
    /// Stands between the wire and the socket, if the URL is one for TLS.
    std::optional<SecureWire> secure_;
    std::optional<PrimaryLookup> lookup_;     ///< set if the URL names Sentinels
    std::optional<redis::HostPort> primary_;  ///< the last one that they have reported
    uv::Socket socket_;
    std::unique_ptr<uv::Work> reading_;  ///< set while a thread reads files; one is enough
    bool wanted_ = false;                ///< to be connected once they are read
  };

  void on_events(int wire);
  void on_login(int node, const redis::Login& login) override;
  void on_ready(int wire) override;
  void on_no_login(int wire, const std::string& why) override;
  void on_note(int node, const std::string& why) override;

  Session& session_;
  uv_loop_t* loop_;
  uv::Open& open_;
  std::function<void()> on_input_;
  core::Duration connect_timeout_;
  Logins logins_;
  uv::Names names_;
  tls::Contexts contexts_;
  /// Indexed by wire.
  std::array<std::unique_ptr<Socket>, std::size_t{2} * core::max_nodes> sockets_;
};

}  // namespace quorumlock::detail
