#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/lease.hpp>

#include "config/cluster.hpp"
#include "config/node_list.hpp"
#include "lock/trace.hpp"
#include "loop/deferred.hpp"
#include "loop/events.hpp"
#include "loop/inbox.hpp"
#include "loop/lease_state.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

class Runtime;
class TokenCall;

/// One call of acquire, from the call until its handler.
class AcquireCall final : public Task {
 public:
  std::string resource;
  std::vector<std::string> others;  ///< more resources: all are locked, or none
  Request request;
  std::optional<core::Time> requested;  ///< when the wait began; unset: when it reaches the loop
  std::stop_token stop;
  std::optional<Error> refused;  ///< the error, if the call was refused before anything was sent
  detail::Handler<Result<Lease>> handler;
  core::WaiterId waiter;
  std::unique_ptr<core::Trace> trace;  ///< null unless the caller asked for it
  bool pooled = false;  ///< made and reused by the loop; other threads make their own

  void run(Driver& driver) override;
  void dismiss() override;

  /// From now on the caller's stop_token cancels the acquisition.
  void watch(Inbox& inbox);
  /// Stops watching. Returns false if a cancellation is in the inbox, which will dispose of this
  /// object.
  bool unwatch();

 private:
  /// Carries a stop request, which may come on any thread, to the loop.
  struct Cancel final : Task {
    explicit Cancel(AcquireCall& of) : call(of) {}
    void run(Driver& driver) override;
    void dismiss() override { delete &call; }  // the call is over: the loop is gone
    AcquireCall& call;
  };
  struct OnStop {
    AcquireCall* call;
    Inbox* inbox;
    void operator()() const {
      call->cancelling_ = true;  // before the push: the loop may run the task at once
      if (!inbox->push(&call->cancel_)) call->cancelling_ = false;
    }
  };

  Cancel cancel_{*this};
  bool cancelling_ = false;  // cancel_ is in the inbox
  bool over_ = false;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

/// The calls of users under way: acquisitions, leases and calls by token. It passes them to the
/// engine, and the engine's outputs to their handlers. The objects are kept for the next call.
class Calls {
 public:
  Calls(Runtime& runtime, Session& session, const NodeList& nodes, Deferred& later, Events& events);

  /// An unused acquisition, from the pool if there is one; only on the loop.
  std::unique_ptr<AcquireCall> spare_acquisition();
  void begin(AcquireCall& acquisition);
  void cancel(AcquireCall& acquisition);
  void dispose(AcquireCall& acquisition);
  void begin(TokenCall& call);

  void extend(LeaseState& lease, core::Duration ttl, Handler<Result<void>> handler);
  void downgrade(LeaseState& lease, Handler<Result<void>> handler);
  void release(LeaseState& lease);
  /// Ends the release of a lease that has ended already, with the reason `why`.
  void release_late(LeaseState& lease, Errc why, Handler<Result<void>> handler);
  void detach(LeaseState& lease);
  void drop(LeaseState& lease);
  /// A thread has ended while it held a lock with this owner token.
  void thread_ended(const std::string& resource, std::string_view token);

  /// Refuses further calls, and ends those under way.
  void close(core::Time now);

  void carry_out(const core::Acquired& acquired);
  void carry_out(const core::Refused& refused);
  void carry_out(const core::Renewed& renewed);
  void carry_out(const core::AtRisk& risk);
  void carry_out(const core::Ended& ended);
  void carry_out(const core::Extended& extended);
  void carry_out(const core::Released& released);
  /// Keeps the state of one lease that is not needed any more for the next lease; false if there is
  /// none. Call it only when the session has no more outputs.
  bool recycle();

  /// Makes the error of a call that these votes have decided.
  Error error_of(Errc why, const char* what, std::string_view resource, const core::Tally& tally,
                 int attempts, const std::string& reason = {},
                 std::vector<TraceStep> trace = {}) const;

 private:
  void finish(AcquireCall& acquisition, Result<Lease> result);
  [[nodiscard]] std::vector<std::string> with_prefix(
      const std::vector<std::string>& resources) const;
  void answer_later(Handler<Result<void>> handler, Error error);
  template <class Ask>
  void ask_for(const char* what, LeaseState& lease, core::Duration ttl,
               Handler<Result<void>> handler, Ask&& ask);
  [[nodiscard]] std::string too_long(core::Duration ttl) const;
  /// Gives up the handle's or the engine's reference to the lease.
  void let_go(LeaseState& lease);

  Runtime& runtime_;
  const Cluster& cluster_;
  Session& session_;
  core::Engine& engine_;
  const NodeList& nodes_;
  Deferred& later_;
  Events& events_;
  bool closed_ = false;
  std::string key_;  ///< the key of the call being passed on
  std::vector<std::unique_ptr<AcquireCall>> spare_acquisitions_;  ///< those made on the loop
  std::vector<std::unique_ptr<LeaseState>> spare_leases_;  ///< at most the peak number of leases
  std::vector<LeaseState*> let_go_;                        ///< see recycle()
};

}  // namespace quorumlock::detail
