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
#include "loop/kernel_random.hpp"
#include "loop/logins.hpp"
#include "loop/node.hpp"
#include "loop/session.hpp"
#include "loop/wall_clock.hpp"
#include "uv/timer.hpp"

namespace quorumlock::detail {

class Runtime;
class Inquiry;

/// The loop's side of a coordinator: carries out the session's outputs and passes it what comes in.
/// Everything here runs on the loop.
class Driver final : public Node::Listener, Logins::Listener {
 public:
  /// The driver keeps its own loop running until it is closed, and a loop of the user's only while
  /// it has work.
  Driver(Runtime& runtime, uv_loop_t* loop, bool own_loop);

  /// Runs a task that was posted on the loop's own thread, after the tasks in the inbox. Handlers
  /// run later in this turn.
  void run_now(Task* task);

  // Called by tasks.
  Calls& calls() { return calls_; }
  void begin(Inquiry& inquiry);
  // Called by inquiries.
  void ask(Inquiry& inquiry, int node, std::uint16_t question,
           std::span<const std::string_view> words);
  void ask(Inquiry& inquiry, int node, std::uint16_t question,
           std::initializer_list<std::string_view> words) {
    ask(inquiry, node, question, std::span(words.begin(), words.size()));
  }
  /// The inquiry gets no more answers.
  void end(Inquiry& inquiry);
  /// Calls the inquiry's due() at this time, in place of any time set before.
  void wake_at(Inquiry& inquiry, core::Time when);
  /// Starts or stops listening to messages about this lock's leaders, which call heard().
  void listen_for_leaders(const std::string& key, bool on);
  /// Checks the connections for messages.
  void check_messages();
  [[nodiscard]] const Cluster& cluster() const;
  /// The nodes as of now, with the numbers that all these functions know them by.
  [[nodiscard]] const NodeList& nodes() const { return nodes_; }
  [[nodiscard]] core::NodeSet node_set() const { return engine_.nodes(); }
  /// Moves to the nodes of this cluster as soon as they accept that list: see Members::take().
  void set_nodes(const Cluster& next);
  [[nodiscard]] const redis::Link& link(int node) const { return session_.link(node); }
  [[nodiscard]] const WrongClocks::Jump& jump(int node) const {
    return session_.wrong_clocks().jump(node);
  }
  [[nodiscard]] const Repair& repair() const { return session_.repair(); }
  /// Takes a reading of the node's clock by an inquiry, in us since 1970.
  void saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time);
  [[nodiscard]] std::optional<core::ClockWatch::Drift> clock_drift(int node) const {
    return engine_.clock_drift(node);
  }
  [[nodiscard]] Stats stats() const { return engine_.stats(); }
  /// Why this node does not vote, in the node's words or ours.
  [[nodiscard]] std::string trouble(int node) const { return session_.trouble(Clock::now(), node); }
  /// See Session.
  [[nodiscard]] bool ripe() const { return session_.ripe(); }
  void vouch();
  /// Looks at the nodes that do not vote now.
  void look_again();
  /// Does what is due by now, and passes on when something is next.
  void catch_up(detail::Handler<core::Time> then);
  /// Runs `then` in this turn of the loop, but not inside the current call.
  void later(detail::Handler<> then) { later_.add(std::move(then)); }
  /// Ends everything; the handler is called when nothing is left on the loop.
  void close(detail::Handler<> handler);

 private:
  void on_events(int wire) override;
  void on_login(int node, const redis::Login& login) override;
  void on_ready(int wire) override;
  void on_no_login(int wire, const std::string& why) override;
  void on_note(const std::string& sentence) override;
  void on_inbox();
  void take_inbox();
  void on_timer();
  bool read_overdue(core::Time now);
  void before_poll();
  void after_poll();
  [[nodiscard]] core::Time next_due() const;

  void work();

  void carry_out(const Session::Connect& connect);
  void carry_out(const Session::Disconnect& disconnect);
  void carry_out(const Session::Answered& answered);
  void carry_out(const Session::Note& note);
  void carry_out(const Session::Heard& heard);
  void carry_out(const Session::ListChanged& changed);
  void keep_alive();
  void finish_closing();

  Runtime& runtime_;
  KernelRandom random_;
  SystemWallClock wall_;
  Session session_;
  core::Engine& engine_;
  NodeList nodes_;
  Deferred later_;
  Events events_;
  Calls calls_;
  uv::Open open_;
  Logins logins_;
  uv::Timer timer_;
  uv::Poll inbox_poll_;
  uv::BeforePoll before_poll_;
  std::optional<uv::AfterPoll> after_poll_;  ///< on a loop of the user's, which may end
  uv_loop_t* loop_;
  tls::Contexts contexts_;
  std::array<std::unique_ptr<Node>, std::size_t{2} * core::max_nodes> wires_;

  const bool own_loop_;
  bool working_ = false;
  bool stirred_ = true;  ///< there was input since the last turn
  bool undone_ = true;   ///< work() has not run since a run_now()
  bool kept_alive_ = false;
  std::string bytes_;  // of a query being sent
  core::Slots<Inquiry*> inquiries_;
  core::TimerQueue alarms_;  ///< of the inquiries

  bool closing_ = false;
  bool stopped_ = false;
  core::Time close_by_ = core::never;
  std::vector<detail::Handler<>> on_closed_;
};

}  // namespace quorumlock::detail
