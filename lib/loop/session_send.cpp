#include "loop/session.hpp"

#include <chrono>
#include <limits>

#include "redis/keys.hpp"
#include "redis/verbs/line.hpp"
#include "redis/verbs/release.hpp"
#include "redis/words.hpp"

// The commands that a session sends to its nodes.
namespace quorumlock::detail {

using core::Time;
using redis::Subscriber;
using namespace std::chrono_literals;

void Session::send(Time now, const core::Send& send) {
  const bool waits = redis::Batch::can_be(send) && all_run_scripts(send);
  // The batch goes out first, since the commands for one lock must stay in order.
  if (!batch_.empty() && !(waits && batch_.takes(send))) send_batch(now);
  if (waits) {
    batch_.add(send);
  } else {
    put(now, send);
  }
}

/// Whether none of these nodes has a server command in place of the script for this release.
bool Session::all_run_scripts(const core::Send& send) const {
  if (send.tag.kind != core::CommandKind::release) return true;
  for (const int node : send.to) {
    if (link(node).greeting().deletion() != redis::Deletion::script) return false;
  }
  return true;
}

void Session::put(Time now, const core::Send& send) {
  const bool tells_time = send.tag.kind == core::CommandKind::acquire && send.fenced;
  const bool only_deletes = redis::release::only_deletes(send);
  around_.wall_us = tells_time ? wall_.now_us() : 0;
  around_.deletion = redis::Deletion::script;
  bytes_.clear();
  for (const int node : send.to) {
    const redis::Deletion deletion =
        only_deletes ? link(node).greeting().deletion() : redis::Deletion::script;
    if (bytes_.empty() || deletion != around_.deletion) {
      around_.deletion = deletion;
      bytes_.clear();
      redis::append_command(bytes_, send, around_);
    }
    if (send.tag.kind == core::CommandKind::renew) {
      const std::int64_t clock = engine_.clock_of(now, node, send.left);
      put_renewal(now, node, send.tag, clock == 0 ? 0 : clock + send.left / 1us);
    } else {
      put(now, node, send.tag);
    }
  }
}

/// Sends bytes_, a renewal, followed by the node's own time.
void Session::put_renewal(Time now, int node, const core::Tag& tag, std::int64_t node_time_us) {
  const std::size_t size = bytes_.size();
  redis::append_number(bytes_, node_time_us);
  put(now, node, tag);
  bytes_.resize(size);
}

/// Sends bytes_.
void Session::put(Time now, int node, const core::Tag& tag) {
  link(node).send(now, tag, bytes_);
  if (link(node).has_events()) touched(node);
}

/// This node's clock is ahead. If the other nodes' are, too, our own clock stood still: ask them at
/// once, since there may be no other command soon whose answer has their time.
void Session::ask_clocks(Time now, int node) {
  bytes_.clear();
  redis::append_command(bytes_, {"TIME"});
  for (const int other : nodes()) {
    if (other == node) continue;
    put(now, other, core::Tag{core::SlotId(), core::uncounted, core::CommandKind::clock});
  }
}

void Session::send_batch(Time now) {
  const core::CommandKind kind = batch_.kind();
  if (batch_.is_single()) {
    put(now, batch_.first());
    return batch_.clear();
  }
  bytes_.clear();
  around_.wall_us = kind == core::CommandKind::acquisitions ? wall_.now_us() : 0;
  batch_.append_to(bytes_, around_);
  const core::SlotId id = batches_.take();
  Sent& sent = batches_[id];
  sent.tags.assign(batch_.tags().begin(), batch_.tags().end());
  sent.unanswered = batch_.first().to.size();
  const core::Tag tag{id, core::uncounted, kind, batch_.first().tag.with_source};
  for (const int node : batch_.first().to) {
    if (kind == core::CommandKind::renewals) {
      put_renewal(now, node, tag, engine_.clock_of(now, node, batch_.least_left()));
    } else {
      put(now, node, tag);
    }
  }
  batch_.clear();
}

void Session::send(Time now, const core::SendEntries& sending) {
  if (!batch_.empty()) send_batch(now);
  bytes_.clear();
  redis::line::append(bytes_, sending);
  for (const int node : sending.to) put(now, node, sending.tag);
  // The connections for messages are checked as long as there are waiters that ask for their place.
  if (now < next_ping_) return;
  next_ping_ = now + sending.life / 3;
  ping(now);
}

void Session::ping(Time now) {
  for (const int node : nodes()) {
    Subscriber& its = subscriber(node);
    its.ping(now);
    if (its.has_events()) touched(subscriber_of(node));
  }
}

void Session::listen(Time now, const core::Listen& listening) {
  listen(now,
         listening.process.empty() ? std::string(redis::free_prefix) + listening.key
                                   : std::string(redis::wake_prefix) + listening.process,
         listening.on);
}

void Session::listen(Time now, const std::string& channel, bool on) {
  listens_ = true;
  for (const int node : nodes()) {
    Subscriber& its = subscriber(node);
    if (on) {
      its.listen(now, channel);
    } else {
      its.leave(channel);
    }
    if (its.has_events()) touched(subscriber_of(node));
  }
}

}  // namespace quorumlock::detail
