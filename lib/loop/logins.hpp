#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <quorumlock/options.hpp>

#include "lock/types.hpp"
#include "uv/work.hpp"
#include "wire/endpoint.hpp"

namespace quorumlock::detail {

/// The logins of the nodes whose password is in a file, or for which Options::credentials is asked.
/// Files are read again at every connect, and once a second, so that a change is noticed. A token
/// is asked for before the last one ends. Reading and asking run on threads, which may block
/// without end.
class Logins {
 public:
  /// Gets the results, on the loop.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// The node has another login from now on.
    virtual void on_login(int node, const redis::Login& login) = 0;
    /// This wire, which wanted to connect, may do so.
    virtual void on_ready(int wire) = 0;
    /// There is nothing to log in with; `why` is a clause about the node.
    virtual void on_no_login(int wire, const std::string& why) = 0;
    /// Nothing was found, and no wire waits for that. A clause about the node, for an event.
    virtual void on_note(int node, const std::string& why) = 0;
  };
  Logins(uv_loop_t* loop, uv::Open& open, Listener& listener, CredentialsCallback ask)
      : loop_(loop), open_(open), listener_(listener), ask_(std::move(ask)) {}

  /// A wire is to be connected. False: on_ready() follows, or on_no_login(), perhaps inside the
  /// call. `refused`: the node has refused the login that it was given last.
  bool may_connect(core::Time now, int wire, int node, const redis::Endpoint& endpoint,
                   bool refused);
  /// The wire does not want to connect any more.
  void forget_wire(int wire);
  /// This number belongs to another node from now on.
  void forget_node(int number) { nodes_.erase(number); }
  /// Forgets all nodes but those with these numbers.
  void keep(const std::vector<int>& numbers);
  /// Looks for nothing any more, and asks the threads to stop.
  void stop();
  /// Whether a thread is still at work.
  [[nodiscard]] bool asks() const;
  /// Ends everything, and waits for no thread.
  void close() { nodes_.clear(); }
  void advance(core::Time now);
  [[nodiscard]] core::Time deadline() const;

 private:
  struct Found {
    redis::Login login;
    std::optional<core::Duration> valid_for;
  };
  struct Node {
    redis::Endpoint endpoint;
    std::optional<redis::Login> known;
    core::Time ends = core::never;  ///< when `known` is not accepted any more
    core::Time due = core::never;   ///< when to look again
    core::Time asked{};
    core::Duration pause{};  ///< the pause after the last error
    std::string trouble;     ///< the last error; empty: the last look found something
    std::vector<int> waiting;
    std::unique_ptr<uv::Work> work;
  };

  void look(core::Time now, int number, Node& node);
  void looked(int number, Result<Found> found);
  void failed(core::Time now, int number, Node& node, const std::string& why);

  uv_loop_t* loop_;
  uv::Open& open_;
  Listener& listener_;
  CredentialsCallback ask_;
  bool stopped_ = false;
  std::map<int, Node> nodes_;  ///< indexed by node; only the nodes that need this
};

}  // namespace quorumlock::detail
