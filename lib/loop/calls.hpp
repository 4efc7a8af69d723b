#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/cluster.hpp"
#include "config/node_list.hpp"
#include "loop/acquisition.hpp"
#include "loop/deferred.hpp"
#include "loop/events.hpp"
#include "loop/lease_state.hpp"
#include "loop/session.hpp"

namespace quorumlock::detail {

class Runtime;
class TokenCall;

/// The calls of users under way: acquisitions, leases and calls by token. It passes them to the
/// engine, and the engine's outputs to their handlers. The objects are kept for the next call.
class Calls {
 public:
  Calls(Runtime& runtime, Session& session, const NodeList& nodes, Deferred& later, Events& events);

  /// An unused acquisition, from the pool if there is one; only on the loop.
  std::unique_ptr<Acquisition> spare_acquisition();
  void begin(Acquisition& acquisition);
  void cancel(Acquisition& acquisition);
  void dispose(Acquisition& acquisition);
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

  /// Further calls are refused, and those under way end.
  void close(core::Time now);

  void carry_out(const core::Acquired& acquired);
  void carry_out(const core::Refused& refused);
  void carry_out(const core::Renewed& renewed);
  void carry_out(const core::AtRisk& risk);
  void carry_out(const core::Ended& ended);
  void carry_out(const core::Extended& extended);
  void carry_out(const core::Released& released);
  /// Keeps the state of one lease that nobody needs any more for the next; false if there is none.
  /// Only when the session has no more outputs.
  bool recycle();

 private:
  void finish(Acquisition& acquisition, Result<Lease> result);
  void answer_later(Handler<Result<void>> handler, Error error);
  template <class Ask>
  void ask_for(const char* what, LeaseState& lease, Handler<Result<void>> handler, Ask&& ask);
  /// Gives up the handle's or the engine's reference to the lease.
  void let_go(LeaseState& lease);
  Error error_of(Errc why, const char* what, std::string_view resource, const core::Tally& tally,
                 int attempts, const std::string& reason = {},
                 std::vector<TraceStep> trace = {}) const;

  Runtime& runtime_;
  const Cluster& cluster_;
  Session& session_;
  core::Engine& engine_;
  const NodeList& nodes_;
  Deferred& later_;
  Events& events_;
  bool closed_ = false;
  std::string key_;                                               ///< of the call being passed on
  std::vector<std::unique_ptr<Acquisition>> spare_acquisitions_;  ///< those made on the loop
  std::vector<std::unique_ptr<LeaseState>> spare_leases_;  ///< at most the peak number of leases
  std::vector<LeaseState*> let_go_;                        ///< see recycle()
};

}  // namespace quorumlock::detail
