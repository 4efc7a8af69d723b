#include <optional>
#include <utility>

#include "config/quoted.hpp"
#include "loop/driver.hpp"
#include "loop/inquiry.hpp"
#include "loop/runtime.hpp"
#include "loop/token_call.hpp"
#include "redis/keys.hpp"
#include "redis/words.hpp"

// The driver's calls for tasks, which it hands on to the engine.
namespace quorumlock::detail {
namespace {

core::UserId id_of(const void* object) {
  return reinterpret_cast<core::UserId>(object);
}

}  // namespace

std::unique_ptr<Acquisition> Driver::spare_acquisition() {
  if (spare_acquisitions_.empty()) {
    auto made = std::make_unique<Acquisition>();
    made->pooled = true;
    return made;
  }
  std::unique_ptr<Acquisition> spare = std::move(spare_acquisitions_.back());
  spare_acquisitions_.pop_back();
  return spare;
}

void Driver::begin(Acquisition& acquisition) {
  std::optional<Error> refused = std::exchange(acquisition.refused, std::nullopt);
  if (closing_) {
    refused = runtime_.closed_error("lock");
  } else if (!refused && acquisition.stop.stop_requested()) {
    refused = Error(Errc::cancelled, "could not lock \"" +
                                         names_of(acquisition.resource, acquisition.others) +
                                         "\": the caller cancelled it before it began");
  }
  acquisition.watch(runtime_.inbox());
  if (refused) {
    return later([this, &acquisition, error = *refused] { finish(acquisition, error); });
  }
  key_.clear();
  if (acquisition.request.capacity != 0) key_ = redis::semaphore_prefix;
  key_ += cluster_.options.key_prefix;
  key_ += acquisition.resource;
  std::vector<std::string> others;
  for (const std::string& other : acquisition.others) {
    others.push_back(cluster_.options.key_prefix + other);
  }
  const core::Time now = Clock::now();
  const core::Duration wait = acquisition.request.wait;
  engine_.acquire(
      now,
      {key_, acquisition.request.terms, core::later(acquisition.requested.value_or(now), wait),
       wait > core::Duration::zero(), id_of(&acquisition), acquisition.request.ordered, others,
       acquisition.request.capacity},
      &acquisition.waiter);
}

void Driver::cancel(Acquisition& acquisition) {
  engine_.cancel(Clock::now(), acquisition.waiter, Errc::cancelled);
}

void Driver::finish(Acquisition& acquisition, Result<Lease> result) {
  auto handler = std::move(acquisition.handler);
  acquisition.waiter = {};
  if (acquisition.unwatch()) dispose(acquisition);
  handler(std::move(result));
}

void Driver::dispose(Acquisition& acquisition) {
  // The pool never has more acquisitions than were under way at once. Those made by other threads
  // are deleted: other threads cannot reuse them, so they would pile up here.
  std::unique_ptr<Acquisition> done(&acquisition);
  if (done->pooled) spare_acquisitions_.push_back(std::move(done));
}

/// Starts an extend or a downgrade for the holder, one at a time.
template <class Ask>
void Driver::ask_for(const char* what, LeaseState& lease, detail::Handler<Result<void>> handler,
                     Ask&& ask) {
  Errc why = lease.ended();
  std::string reason;
  if (why == Errc() && lease.is_asked()) {
    why = Errc::invalid_argument;
    reason = std::string(lease.asked().what) == "extend" ? "an extend" : "a downgrade";
    reason += " of this lease is still under way: wait for its end";
  }
  if (why == Errc()) {
    LeaseState::Asked& asked = lease.asked();
    asked = {what, std::move(handler)};
    if (ask()) return;
    handler = std::move(asked.handler);
    why = lease.ended() == Errc() ? Errc::expired : lease.ended();
  }
  if (reason.empty()) reason = make_error_code(why).message();
  const Error error(why, std::string("could not ") + what + " \"" +
                             names_of(lease.resource(), lease.others()) + "\": " + reason);
  later([then = std::move(handler), error]() mutable { then(error); });
}

void Driver::extend(LeaseState& lease, core::Duration ttl, detail::Handler<Result<void>> handler) {
  ask_for("extend", lease, std::move(handler),
          [&] { return engine_.extend(Clock::now(), lease.claim, ttl); });
}

void Driver::downgrade(LeaseState& lease, detail::Handler<Result<void>> handler) {
  if (lease.detached) {
    const Error error(Errc::invalid_argument, "could not downgrade \"" +
                                                  names_of(lease.resource(), lease.others()) +
                                                  "\": the lease is detached, let it run out");
    return later([then = std::move(handler), error]() mutable { then(error); });
  }
  ask_for("downgrade", lease, std::move(handler),
          [&] { return engine_.downgrade(Clock::now(), lease.claim); });
}

void Driver::release(LeaseState& lease) {
  lease.warn();
  if (engine_.release(Clock::now(), lease.claim, true)) return;
  // The lease ended first, and the engine's report of that has not been carried out yet.
  release_late(lease, Errc::expired, lease.take_on_released());
}

void Driver::release_late(LeaseState& lease, Errc why, detail::Handler<Result<void>> handler) {
  if (why != LeaseState::released) engine_.abandon(Clock::now(), lease.claim);
  const std::string reason =
      why == LeaseState::released ? "it has been released before" : make_error_code(why).message();
  const Error error(
      why, "could not release \"" + names_of(lease.resource(), lease.others()) + "\": " + reason);
  later([then = std::move(handler), error]() mutable { then(error); });
}

void Driver::detach(LeaseState& lease) {
  lease.detached = true;
  engine_.detach(Clock::now(), lease.claim);
}

/// The handle is gone: the lease is released, unless it was detached or has ended.
void Driver::drop(LeaseState& lease) {
  lease.warn();
  const core::Claim* claim = engine_.claim(lease.claim);
  if (claim != nullptr && claim->phase == core::Phase::held) {
    if (lease.detached) {
      engine_.forget(Clock::now(), lease.claim);
    } else {
      engine_.release(Clock::now(), lease.claim, false);
    }
    engine_let_go(lease);
  }
  engine_let_go(lease);
}

void Driver::engine_let_go(LeaseState& lease) {
  if (lease.let_go()) let_go_.push_back(&lease);
}

void Driver::begin(TokenCall& call) {
  if (closing_) {
    return later([&call] { call.dismiss(); });
  }
  key_ = cluster_.options.key_prefix + call.resource;
  const core::UserId user = id_of(&call);
  if (call.ttl == core::Duration::zero()) {
    engine_.release_token(Clock::now(), key_, call.token, user);
  } else {
    engine_.extend_token(Clock::now(), key_, call.token, call.ttl, user);
  }
}

void Inquiry::run(Driver& driver) {
  driver.begin(*this);
}

void Driver::begin(Inquiry& inquiry) {
  if (closing_) {
    return later([&inquiry] { inquiry.dismiss(); });
  }
  inquiry.id = inquiries_.take();
  inquiries_[inquiry.id] = &inquiry;
  inquiry.start(*this);
}

void Driver::on_ready(int wire) {
  std::unique_ptr<Node>& node = wires_[static_cast<std::size_t>(wire)];
  if (node == nullptr) {
    node = std::make_unique<Node>(wire, session_.wire(wire), contexts_, loop_, open_, *this);
  }
  node->connect();
}

void Driver::on_login(int node, const redis::Login& login) {
  for (const int wire : {node, subscriber_of(node)}) {
    session_.wire(wire).log_in(Clock::now(), login);
  }
  on_events(node);
}

void Driver::on_no_login(int wire, const std::string& why) {
  session_.wire(wire).on_no_login(Clock::now(), why);
  on_events(wire);
}

void Driver::on_note(const std::string& sentence) {
  if (cluster_.options.log) cluster_.options.log(sentence);
}

void Driver::ask(Inquiry& inquiry, int node, std::uint16_t question,
                 std::span<const std::string_view> words) {
  bytes_.clear();
  redis::append_command(bytes_, words);
  session_.ask(Clock::now(), node, {inquiry.id, question, core::CommandKind::query}, bytes_);
}

void Driver::end(Inquiry& inquiry) {
  alarms_.clear(inquiry.id.index);
  inquiries_.give_back(inquiry.id);
}

void Driver::wake_at(Inquiry& inquiry, core::Time when) {
  alarms_.set(inquiry.id.index, when);
}

void Driver::listen_for_leaders(const std::string& key, bool on) {
  session_.messages().listen(Clock::now(), std::string(redis::led_prefix) + key, on);
}

void Driver::check_messages() {
  session_.messages().ping(Clock::now());
}

std::string Driver::trouble(int node) const {
  std::string text = session_.link(node).trouble(Clock::now());
  if (const std::uint64_t read = repair().counters_read(node); read > 0) {
    text += "; its fencing counters are being brought up to date, " + std::to_string(read) +
            " looked at so far";
  }
  return text;
}

void Driver::saw_clock(int node, core::Time asked, core::Time now, std::int64_t node_time) {
  engine_.on_clock(now, node, asked, node_time);
}

void Driver::vouch() {
  session_.vouch(Clock::now());
}

void Driver::look_again() {
  session_.look_again(Clock::now());
}

void Driver::later(detail::Handler<> then) {
  later_.push_back(std::move(then));
}

}  // namespace quorumlock::detail
