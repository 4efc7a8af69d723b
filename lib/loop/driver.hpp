#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/cluster.hpp"
#include "config/node_list.hpp"
#include "loop/calls.hpp"
#include "loop/deferred.hpp"
#include "loop/events.hpp"
#include "loop/inbox.hpp"
#include "loop/inquiries.hpp"
#include "loop/kernel_random.hpp"
#include "loop/session.hpp"
#include "loop/sockets.hpp"
#include "loop/wall_clock.hpp"
#include "uv/timer.hpp"

namespace quorumlock::detail {

class Runtime;

/// The loop's side of a coordinator: carries out the session's outputs and passes it what comes in.
/// Everything here runs on the loop.
class Driver {
 public:
  /// The driver keeps its own loop running until it is closed, and a loop of the user's only while
  /// it has work.
  Driver(Runtime& runtime, uv_loop_t* loop, bool own_loop);

  /// Runs a task that was posted on the loop's own thread, after the tasks in the inbox. Handlers
  /// run later in this turn.
  void run_now(Task* task);

  // Called by tasks.
  Calls& calls() { return calls_; }
  Inquiries& inquiries() { return inquiries_; }
  [[nodiscard]] const Sockets& sockets() const { return sockets_; }
  [[nodiscard]] const Cluster& cluster() const;
  /// The present nodes, each with the number by which all these functions know it.
  [[nodiscard]] const NodeList& nodes() const { return nodes_; }
  [[nodiscard]] core::NodeSet node_set() const { return session_.engine().nodes(); }
  /// Moves to the nodes of this cluster as soon as they accept that list: see Members::set_nodes().
  void set_nodes(const Cluster& next);
  [[nodiscard]] const redis::Link& link(int node) const { return session_.link(node); }
  [[nodiscard]] const core::ClockJumped& jump(int node) const { return session_.clock_jump(node); }
  [[nodiscard]] const Repair& repair() const { return session_.repair(); }
  /// The terms of our list, as far as the nodes have said.
  [[nodiscard]] const redis::ListTerms& terms() const { return session_.electorate().terms(); }
  /// Takes a reading of the node's clock by an inquiry, in us since 1970.
  void saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time);
  [[nodiscard]] std::optional<core::ClockWatch::Drift> clock_drift(int node) const {
    return session_.engine().clock_drift(node);
  }
  [[nodiscard]] Stats stats();
  /// Why this node does not vote, in the node's words or ours.
  [[nodiscard]] std::string trouble(int node) const { return session_.trouble(Clock::now(), node); }
  /// See Session.
  [[nodiscard]] bool ripe() const { return session_.ripe(); }
  void vouch();
  /// Looks at the nodes that do not vote, now instead of later.
  void look_again();
  /// Asks all nodes again for what may have changed: see Session.
  void ask_facts();
  /// See Session.
  void doubt(int node);
  /// Does what is due by now, and passes the next due time to `then`.
  void catch_up(detail::Handler<core::Time> then);
  /// Runs `then` in this turn of the loop, but not inside the current call.
  void later(detail::Handler<> then) { later_.add(std::move(then)); }
  /// Ends everything; the handler is called when nothing is left on the loop.
  void close(detail::Handler<> handler);

 private:
  void on_inbox();
  void take_inbox();
  void on_timer();
  void before_poll();
  void after_poll();
  [[nodiscard]] core::Time next_due() const;

  void work();

  void carry_out(const Session::ListChanged& changed);
  void keep_stats();
  void keep_alive();
  void finish_closing();

  Runtime& runtime_;
  KernelRandom random_;
  SystemWallClock wall_;
  Session session_;
  NodeList nodes_;
  Deferred later_;
  Events events_;
  Calls calls_;
  uv::Open open_;
  Inquiries inquiries_;
  Sockets sockets_;

  /// These call the driver in each turn of the loop.
  struct Watchers {
    uv::Timer timer;
    uv::Poll inbox;
    uv::BeforePoll before_poll;
    std::optional<uv::AfterPoll> after_poll;  ///< set on a loop of the user's, which may end
  };
  Watchers watchers_;
  const bool own_loop_;

  struct Turn {
    bool working = false;
    bool stirred = true;  ///< there was input since the last turn
    bool undone = true;   ///< work() has not run since a run_now()
    bool kept_alive = false;
  };
  Turn turn_;

  struct Ending {
    bool begun = false;
    bool stopped = false;
    core::Time by = core::never;
    std::vector<detail::Handler<>> handlers;
  };
  Ending ending_;
};

}  // namespace quorumlock::detail
