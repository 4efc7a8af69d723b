#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "loop/logins.hpp"
#include "loop/node.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

/// The sockets of a session's wires, and what they log in with.
class Sockets final : public Node::Listener, Logins::Listener {
 public:
  /// `on_input` is called whenever a wire may have events. `options` and `session` outlive this
  /// object.
  Sockets(const Options& options, Session& session, uv_loop_t* loop, uv::Open& open,
          std::function<void()> on_input);

  void carry_out(const Session::Connect& connect);
  void carry_out(const Session::Disconnect& disconnect);
  /// The list of nodes is another one now.
  void follow(const Session::ListChanged& changed);
  /// Reads from the sockets of nodes that are overdue: if the loop stood still, their answers lie
  /// unread, since the sockets may come after the timer in a turn, and a turn reads only a part of
  /// each. True if bytes came in.
  bool read_overdue(core::Time now);
  void advance(core::Time now) { logins_.advance(now); }
  [[nodiscard]] core::Time deadline() const { return logins_.deadline(); }
  /// Writes what the wires have to say, once a turn.
  void flush();
  /// Asks for no more logins. The session disconnects the wires.
  void close() { logins_.close(); }

 private:
  void on_events(int wire) override;
  void on_login(int node, const redis::Login& login) override;
  void on_ready(int wire) override;
  void on_no_login(int wire, const std::string& why) override;
  void on_note(const std::string& sentence) override;

  const Options& options_;
  Session& session_;
  uv_loop_t* loop_;
  uv::Open& open_;
  std::function<void()> on_input_;
  Logins logins_;
  tls::Contexts contexts_;
  std::array<std::unique_ptr<Node>, std::size_t{2} * core::max_nodes> wires_;
};

}  // namespace quorumlock::detail
