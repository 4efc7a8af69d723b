#include "loop/calls.hpp"

#include <quorumlock/options.hpp>

#include <optional>
#include <utility>

#include "config/quoted.hpp"
#include "loop/driver.hpp"
#include "loop/runtime.hpp"
#include "loop/token_call.hpp"
#include "loop/user_id.hpp"
#include "loop/why_refused.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::detail {
namespace {

std::string names_of(const LeaseState& lease) {
  return detail::names_of(lease.resource(), lease.others());
}

Error could_not(std::string_view what, const std::string& names, Errc why,
                const std::string& reason) {
  return {why, "could not " + std::string(what) + " \"" + names + "\": " + reason};
}

}  // namespace

void AcquireCall::run(Driver& driver) {
  driver.calls().begin(*this);
}

void AcquireCall::dismiss() {
  auto then = std::move(handler);
  const Error closed(Errc::closed, "could not lock \"" + names_of(resource, others) +
                                       "\": the coordinator is closed");
  delete this;
  then(closed);
}

void AcquireCall::watch(Inbox& inbox) {
  over_ = cancelling_ = false;
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), OnStop{this, &inbox});
}

bool AcquireCall::unwatch() {
  on_stop_.reset();  // waits if the callback is running on another thread
  over_ = true;
  return !cancelling_;
}

void AcquireCall::Cancel::run(Driver& driver) {
  call.cancelling_ = false;
  if (call.over_) {
    driver.calls().dispose(call);
  } else {
    driver.calls().cancel(call);
  }
}

Calls::Calls(Runtime& runtime, Session& session, const NodeList& nodes, Deferred& later,
             Events& events)
    : runtime_(runtime),
      cluster_(runtime.cluster()),
      session_(session),
      engine_(session.engine()),
      nodes_(nodes),
      later_(later),
      events_(events) {}

std::unique_ptr<AcquireCall> Calls::spare_acquisition() {
  if (spare_acquisitions_.empty()) {
    auto made = std::make_unique<AcquireCall>();
    made->pooled = true;
    return made;
  }
  std::unique_ptr<AcquireCall> spare = std::move(spare_acquisitions_.back());
  spare_acquisitions_.pop_back();
  return spare;
}

void Calls::begin(AcquireCall& acquisition) {
  std::optional<Error> refused = std::exchange(acquisition.refused, std::nullopt);
  if (closed_) {
    refused = runtime_.closed_error("lock");
  } else if (!refused && acquisition.stop.stop_requested()) {
    refused = could_not("lock", names_of(acquisition.resource, acquisition.others), Errc::cancelled,
                        "the caller cancelled it before it began");
  }
  const core::Duration ttl = acquisition.request.terms.ttl;
  if (!refused && ttl > engine_.max_ttl()) {
    refused = could_not("lock", names_of(acquisition.resource, acquisition.others),
                        Errc::invalid_argument, too_long(ttl));
  }
  acquisition.watch(runtime_.inbox());
  if (refused) {
    return later_.add([this, &acquisition, error = *refused] { finish(acquisition, error); });
  }
  key_ = redis::kind_prefix({.first = acquisition.resource,
                             .mode = acquisition.request.terms.mode,
                             .permit = {.capacity = acquisition.request.capacity}});
  key_ += cluster_.options.key_prefix;
  key_ += acquisition.resource;
  const std::vector<std::string> others = with_prefix(acquisition.others);
  const core::Time now = Clock::now();
  const core::Time called = acquisition.requested.value_or(now);
  if (acquisition.request.traced) acquisition.trace = std::make_unique<core::Trace>(called);
  const core::Duration wait = acquisition.request.wait;
  engine_.acquire(now,
                  {key_, acquisition.request.terms, core::later(called, wait),
                   wait > core::Duration::zero(), id_of(acquisition), acquisition.request.ordered,
                   others, acquisition.request.capacity, acquisition.trace.get()},
                  &acquisition.waiter);
}

std::vector<std::string> Calls::with_prefix(const std::vector<std::string>& resources) const {
  std::vector<std::string> keys;
  keys.reserve(resources.size());
  for (const std::string& each : resources) keys.push_back(cluster_.options.key_prefix + each);
  return keys;
}

/// Why a ttl is refused that is longer than the nodes' max_ttl.
std::string Calls::too_long(core::Duration ttl) const {
  const std::string most = to_text(engine_.max_ttl());
  return "ttl is " + to_text(ttl) + ", above the nodes' max_ttl, which is " + most +
         ": ask for at most " + most + ", or raise theirs with quorumlock members apply";
}

void Calls::cancel(AcquireCall& acquisition) {
  engine_.cancel(Clock::now(), acquisition.waiter, Errc::cancelled);
}

void Calls::finish(AcquireCall& acquisition, Result<Lease> result) {
  auto handler = std::move(acquisition.handler);
  acquisition.waiter = {};
  acquisition.trace.reset();
  if (acquisition.unwatch()) dispose(acquisition);
  handler(std::move(result));
}

void Calls::dispose(AcquireCall& acquisition) {
  // The pool never has more acquisitions than were under way at once. Those made by other threads
  // are deleted: other threads cannot reuse them, so they would pile up here.
  std::unique_ptr<AcquireCall> done(&acquisition);
  if (done->pooled) spare_acquisitions_.push_back(std::move(done));
}

void Calls::answer_later(Handler<Result<void>> handler, Error error) {
  later_.add([then = std::move(handler), error = std::move(error)]() mutable { then(error); });
}

/// Starts an extend or a downgrade for the holder, one at a time.
template <class Ask>
void Calls::ask_for(const char* what, LeaseState& lease, core::Duration ttl,
                    detail::Handler<Result<void>> handler, Ask&& ask) {
  Errc why = lease.ended();
  std::string reason;
  if (why == Errc() && lease.is_asked()) {
    why = Errc::invalid_argument;
    reason = std::string(lease.asked().what) == "extend" ? "an extend" : "a downgrade";
    reason += " of this lease is still under way: wait for its end";
  }
  if (why == Errc() && ttl > engine_.max_ttl()) {
    why = Errc::invalid_argument;
    reason = too_long(ttl);
  }
  if (why == Errc()) {
    LeaseState::UnderWay& asked = lease.asked();
    asked = {what, std::move(handler)};
    if (ask()) return;
    handler = std::move(asked.handler);
    why = lease.ended() == Errc() ? Errc::expired : lease.ended();
  }
  if (reason.empty()) reason = make_error_code(why).message();
  answer_later(std::move(handler), could_not(what, names_of(lease), why, reason));
}

void Calls::extend(LeaseState& lease, core::Duration ttl, detail::Handler<Result<void>> handler) {
  ask_for("extend", lease, ttl, std::move(handler),
          [&] { return engine_.extend(Clock::now(), lease.claim, ttl); });
}

void Calls::downgrade(LeaseState& lease, detail::Handler<Result<void>> handler) {
  if (lease.detached) {
    return answer_later(std::move(handler),
                        could_not("downgrade", names_of(lease), Errc::invalid_argument,
                                  "the lease is detached, let it run out"));
  }
  // Only a lock under its own name has readers: a permit, for example, has none.
  const core::Claim* const claim = engine_.claim(lease.claim);
  if (claim != nullptr && claim->key().starts_with(redis::own_prefix)) {
    return answer_later(std::move(handler),
                        could_not("downgrade", names_of(lease), Errc::invalid_argument,
                                  "it is no lock to write, and nobody can read it"));
  }
  ask_for("downgrade", lease, core::Duration::zero(), std::move(handler),
          [&] { return engine_.downgrade(Clock::now(), lease.claim); });
}

void Calls::release(LeaseState& lease) {
  lease.warn();
  if (engine_.release(Clock::now(), lease.claim, true)) return;
  // The lease ended first, and the engine's report of that has not been carried out yet.
  release_late(lease, Errc::expired, lease.take_on_released());
}

void Calls::release_late(LeaseState& lease, Errc why, detail::Handler<Result<void>> handler) {
  if (why != LeaseState::released) engine_.abandon(Clock::now(), lease.claim);
  const std::string reason =
      why == LeaseState::released ? "it has been released before" : make_error_code(why).message();
  answer_later(std::move(handler), could_not("release", names_of(lease), why, reason));
}

void Calls::detach(LeaseState& lease) {
  lease.detached = true;
  engine_.detach(Clock::now(), lease.claim);
}

/// The handle is gone: the lease is released, unless it was detached or has ended.
void Calls::drop(LeaseState& lease) {
  lease.warn();
  const core::Claim* claim = engine_.claim(lease.claim);
  if (claim != nullptr && claim->phase == core::Phase::held) {
    if (lease.detached) {
      engine_.forget(Clock::now(), lease.claim);
    } else {
      const core::Time now = Clock::now();
      if (engine_.release(now, lease.claim, false)) events_.released(now, lease);
    }
    let_go(lease);
  }
  let_go(lease);
}

void Calls::thread_ended(const std::string& resource, std::string_view token) {
  events_.thread_ended(Clock::now(), resource, token);
}

void Calls::let_go(LeaseState& lease) {
  if (lease.let_go()) let_go_.push_back(&lease);
}

void Calls::begin(TokenCall& call) {
  if (closed_) {
    return later_.add([&call] { call.dismiss(); });
  }
  if (call.ttl > engine_.max_ttl()) {
    return later_.add([this, &call] {
      call.finish(could_not("extend", names_of(call.resource, call.others), Errc::invalid_argument,
                            too_long(call.ttl)));
    });
  }
  key_ = cluster_.options.key_prefix + call.resource;
  core::OtherKeys others;
  if (!call.others.empty()) {
    others = std::make_shared<const std::vector<std::string>>(with_prefix(call.others));
  }
  const core::UserId user = id_of(call);
  if (call.ttl == core::Duration::zero()) {
    engine_.release_token(Clock::now(), key_, std::move(others), call.token, user);
  } else {
    engine_.extend_token(Clock::now(), key_, std::move(others), call.token, call.ttl, user);
  }
}

void Calls::carry_out(const core::Acquired& acquired) {
  auto& acquisition = object_of<AcquireCall>(acquired.user);
  const core::Claim* claim = engine_.claim(acquired.claim);
  if (spare_leases_.empty()) spare_leases_.push_back(std::make_unique<LeaseState>());
  LeaseState* lease = spare_leases_.back().release();
  spare_leases_.pop_back();
  lease->begin(runtime_.shared_from_this(), acquired.claim, *claim, acquisition.resource.size(),
               std::move(acquisition.others), acquired.attempts);
  if (acquisition.trace != nullptr) lease->keep(nodes_.steps_of(*acquisition.trace));
  engine_.adopt(acquired.claim, id_of(*lease));
  finish(acquisition, lease->handle());
}

void Calls::carry_out(const core::Refused& refused) {
  auto& acquisition = object_of<AcquireCall>(refused.user);
  const int capacity = acquisition.request.capacity;
  const char* const what = capacity == 0 ? "lock" : "get a permit of";
  const std::string names = names_of(acquisition.resource, acquisition.others);
  std::vector<TraceStep> trace;
  if (acquisition.trace != nullptr) trace = nodes_.steps_of(*acquisition.trace);
  if (refused.unsent) {
    const bool waits = acquisition.request.wait > core::Duration::zero();
    const std::string within =
        waits ? "its wait" : "node_timeout (" + to_text(cluster_.options.node_timeout) + ")";
    return finish(acquisition,
                  Error(refused.why,
                        std::string("could not ") + what + " \"" + names + "\": not sent within " +
                            within + ": " + why_unsent(*refused.unsent, nodes_.size()) +
                            "; wait longer, or ask for fewer at once",
                        Outcome{.trace = std::move(trace)}));
  }
  const core::Duration ttl = acquisition.request.terms.ttl;
  std::string reason =
      capacity == 0 ? why_no_lock(refused, Clock::now()) : why_no_permit(refused, capacity);
  Errc why = refused.why;
  if (ttl > engine_.max_ttl() && (why == Errc::misconfigured || why == Errc::no_quorum)) {
    why = Errc::invalid_argument;
    reason = too_long(ttl);
  }
  finish(acquisition,
         error_of(why, what, names, refused.tally, refused.attempts, reason, std::move(trace)));
}

void Calls::carry_out(const core::Renewed& renewed) {
  LeaseState& lease = object_of<LeaseState>(renewed.user);
  // If the holder has released the lease meanwhile, that release is in the inbox.
  if (!lease.renew(renewed.valid_until) && lease.ended() != LeaseState::released) {
    engine_.abandon(Clock::now(), renewed.claim);
  }
}

void Calls::carry_out(const core::AtRisk& risk) {
  object_of<LeaseState>(risk.user).warn();
}

void Calls::carry_out(const core::Ended& ended) {
  LeaseState& lease = object_of<LeaseState>(ended.user);
  lease.end(ended.why);
  lease.warn();
  let_go(lease);
}

void Calls::carry_out(const core::Extended& extended) {
  if (extended.by_token) {
    auto& call = object_of<TokenCall>(extended.user);
    if (!extended.why) return call.finish(extended.valid_until);
    const bool refused = *extended.why == Errc::no_quorum && call.ttl > engine_.max_ttl();
    const Errc why = refused ? Errc::invalid_argument : *extended.why;
    return call.finish(error_of(why, "extend", names_of(call.resource, call.others), extended.tally,
                                0, refused ? too_long(call.ttl) : ""));
  }
  LeaseState& lease = object_of<LeaseState>(extended.user);
  if (!lease.is_asked()) return;
  auto handler = std::move(lease.asked().handler);
  if (!extended.why) return handler({});
  handler(error_of(*extended.why, lease.asked().what, names_of(lease), extended.tally, 0));
}

void Calls::carry_out(const core::Released& released) {
  if (released.by_token) {
    auto& call = object_of<TokenCall>(released.user);
    if (!released.why) return call.finish(Clock::time_point());
    return call.finish(error_of(*released.why, "release", names_of(call.resource, call.others),
                                released.tally, 0));
  }
  LeaseState& lease = object_of<LeaseState>(released.user);
  auto handler = lease.take_on_released();
  Result<void> result;
  if (released.why) {
    // If a lease that seemed to last is not held under our token, it was lost.
    const Errc why = *released.why == Errc::not_held ? Errc::lost : *released.why;
    result = error_of(why, "release", names_of(lease), released.tally, 0);
  }
  let_go(lease);
  if (handler) handler(std::move(result));
}

Error Calls::error_of(Errc why, const char* what, std::string_view resource,
                      const core::Tally& tally, int attempts, const std::string& reason,
                      std::vector<TraceStep> trace) const {
  Outcome outcome = nodes_.outcome_of(tally, attempts);
  outcome.trace = std::move(trace);
  std::string troubles;
  bool forgetful = false;
  for (const NodeList::Node& node : nodes_) {
    NodeVote& vote = outcome.votes[nodes_.place_of(node.number)];
    const bool enrolled = session_.link(node.number).enrolment().is_enrolled();
    forgetful = forgetful || (vote.vote == Vote::quarantined && !enrolled);
    if (core::is_answer(vote.vote) || vote.vote == Vote::pending) continue;
    vote.detail =
        vote.vote == Vote::bad_counter
            ? "has a fencing counter of it, or a floor, that no clock explains: quorumlock "
              "doctor says what to do"
            : session_.trouble(Clock::now(), node.number);
    if (!vote.detail.empty()) troubles += "; " + vote.node + ": " + vote.detail;
  }
  std::string sentence = std::string("could not ") + what + " \"" + std::string(resource) +
                         "\": " + (reason.empty() ? make_error_code(why).message() : reason) +
                         " (" + outcome.to_string() + ")";
  if (why == Errc::no_quorum || why == Errc::misconfigured) sentence += troubles;
  if (why == Errc::no_quorum && forgetful) {
    sentence +=
        "; quarantined nodes vote once every lock of before has run out (quorumlock enroll waits "
        "for that)";
    // Nodes that were enrolled before are not new, even if they have forgotten that.
    if (!session_.was_enrolled()) sentence += ", new ones at once after quorumlock enroll --new";
  }
  return {why, std::move(sentence), std::move(outcome)};
}

void Calls::close(core::Time now) {
  closed_ = true;
  engine_.close(now);
}

bool Calls::recycle() {
  if (let_go_.empty()) return false;
  LeaseState* lease = let_go_.back();
  let_go_.pop_back();
  engine_.reuse(std::move(lease->names));
  lease->recycle();
  spare_leases_.emplace_back(lease);
  return true;
}

}  // namespace quorumlock::detail
