#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/acquisition.hpp"
#include "client/cluster.hpp"
#include "client/inbox.hpp"
#include "client/kernel_random.hpp"
#include "client/lease_state.hpp"
#include "client/node.hpp"
#include "client/session.hpp"
#include "client/wall_clock.hpp"
#include "uv/timer.hpp"

namespace quorumlock::client {

class Runtime;
class TokenCall;
class Inquiry;

/// The loop's side of a coordinator: asks the session, does what it says, tells it what came back.
/// Everything here runs on the loop.
class Driver final : public Node::Listener {
 public:
  /// On a loop of its own it keeps that going until it is closed; on another's only while it has
  /// work.
  Driver(Runtime& runtime, uv_loop_t* loop, bool own_loop);

  /// Runs a task that comes from the loop's own thread. Its handlers run later in this turn.
  void run_now(Task* task);

  // What tasks ask for.
  void begin(Acquisition& acquisition);
  void cancel(Acquisition& acquisition);
  void dispose(Acquisition& acquisition);
  void extend(LeaseState& lease, core::Duration ttl, detail::Handler<Result<void>> handler);
  void downgrade(LeaseState& lease, detail::Handler<Result<void>> handler);
  void release(LeaseState& lease);
  /// A release of what had ended by itself.
  void release_late(LeaseState& lease, Errc why, detail::Handler<Result<void>> handler);
  void detach(LeaseState& lease);
  void drop(LeaseState& lease);
  void begin(TokenCall& call);
  void begin(Inquiry& inquiry);
  // What inquiries ask for.
  void ask(Inquiry& inquiry, int node, std::uint16_t question,
           std::initializer_list<std::string_view> words);
  /// It wants no answers any more.
  void end(Inquiry& inquiry);
  /// Calls its due() then, and no earlier that was asked for.
  void wake_at(Inquiry& inquiry, core::Time when);
  /// Its heard() is to be called of this lock's leaders, or no longer.
  void listen_for_leaders(const std::string& key, bool on);
  /// Do the connections for messages still live?
  void check_messages();
  [[nodiscard]] const Cluster& cluster() const { return cluster_; }
  [[nodiscard]] const redis::Link& link(int node) const { return session_.link(node); }
  [[nodiscard]] const Session::Jump& jump(int node) const { return session_.jump(node); }
  /// The node's clock as an inquiry found it, in us since 1970.
  void saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time);
  [[nodiscard]] std::optional<core::ClockWatch::Drift> clock_drift(int node) const {
    return engine_.clock_drift(node);
  }
  [[nodiscard]] const Stats& stats() const { return engine_.stats(); }
  /// Why this node is of no help, in its words or ours.
  [[nodiscard]] std::string trouble(int node) const;
  /// See Session.
  [[nodiscard]] bool ripe() const { return session_.ripe(); }
  void vouch() { session_.vouch(); }
  /// Nodes that did not vote are looked at now.
  void look_again();
  /// Runs `then` on this turn, but not inside the call at hand.
  void later(detail::Handler<> then);
  /// Ends everything; the handler is called when nothing is left on the loop.
  void close(detail::Handler<> handler);

  /// An acquisition that is free to be used; from the loop only.
  std::unique_ptr<Acquisition> spare_acquisition();
  [[nodiscard]] bool closing() const { return closing_; }

 private:
  void on_events(int wire) override;
  void on_inbox();
  void on_timer();
  bool read_overdue(core::Time now);
  void before_poll();

  void work();

  void carry_out(const Session::Connect& connect);
  void carry_out(const Session::Disconnect& disconnect);
  void carry_out(const Session::Answered& answered);
  void carry_out(const Session::Note& note);
  void carry_out(const Session::Heard& heard);
  void carry_out(const core::Acquired& acquired);
  void carry_out(const core::Refused& refused);
  void carry_out(const core::Renewed& renewed);
  void carry_out(const core::AtRisk& risk);
  void carry_out(const core::Ended& ended);
  void carry_out(const core::Extended& extended);
  void carry_out(const core::Released& released);

  void finish(Acquisition& acquisition, Result<Lease> result);
  template <class Ask>
  void ask_for(const char* what, LeaseState& lease, detail::Handler<Result<void>> handler,
               Ask&& ask);
  void engine_let_go(LeaseState& lease);
  Error error_of(Errc why, const char* what, std::string_view resource, const core::Tally& tally,
                 int attempts, const std::string& reason = {}) const;
  void keep_alive();
  void finish_closing();

  Runtime& runtime_;
  const Cluster& cluster_;
  KernelRandom random_;
  SystemWallClock wall_;
  Session session_;
  core::Engine& engine_;
  uv::Open open_;
  uv::Timer timer_;
  uv::Poll inbox_poll_;
  uv::BeforePoll before_poll_;
  std::vector<std::unique_ptr<Node>> wires_;

  const bool own_loop_;
  bool working_ = false;
  bool stirred_ = true;  ///< something has come in since the last turn
  bool undone_ = true;   ///< work() has not been called since
  bool kept_alive_ = false;
  std::string bytes_;  // of a query being sent
  std::string key_;
  std::vector<detail::Handler<>> later_;
  core::Slots<Inquiry*> inquiries_;
  core::TimerQueue alarms_;  ///< of the inquiries

  std::vector<std::unique_ptr<Acquisition>> spare_acquisitions_;
  std::vector<std::unique_ptr<LeaseState>> spare_leases_;
  std::vector<LeaseState*> let_go_;  // recycled once the engine has nothing more to say of them

  bool closing_ = false;
  bool stopped_ = false;
  core::Time close_by_ = core::never;
  std::vector<detail::Handler<>> on_closed_;
};

}  // namespace quorumlock::client
