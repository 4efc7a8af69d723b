#include "client/session.hpp"

#include <limits>

#include "redis/keys.hpp"
#include "redis/native_acquire.hpp"

// What a session sends to its nodes.
namespace quorumlock::client {

using core::Time;
using redis::Subscriber;

void Session::send(Time now, const core::Send& send) {
  const bool waits = redis::Batch::can_be(send) && all_run_scripts(send);
  // What belongs to one lock goes out in order.
  if (!batch_.empty() && !(waits && batch_.takes(send))) send_batch(now);
  if (waits) {
    batch_.add(send);
  } else {
    put(now, send);
  }
}

/// Of these nodes none has a command of its own for this release.
bool Session::all_run_scripts(const core::Send& send) const {
  if (send.tag.kind != core::CommandKind::release) return true;
  for (const int node : send.to) {
    if (link(node).deletion() != redis::Deletion::script) return false;
  }
  return true;
}

void Session::put(Time now, const core::Send& send) {
  const bool tells_time =
      send.tag.kind == core::CommandKind::acquire && send.fenced && !send.tag.native;
  const bool only_deletes = redis::only_deletes(send);
  redis::Surroundings around{tells_time ? wall_.now_us() : 0, max_ttl_};
  bytes_.clear();
  for (const int node : send.to) {
    const redis::Deletion deletion = only_deletes ? link(node).deletion() : redis::Deletion::script;
    if (bytes_.empty() || deletion != around.deletion) {
      around.deletion = deletion;
      bytes_.clear();
      redis::append_command(bytes_, send, around);
    }
    put(now, node, send.tag);
  }
}

/// Sends bytes_.
void Session::put(Time now, int node, const core::Tag& tag) {
  link(node).send(now, tag, bytes_);
  if (link(node).has_events()) touched(node);
}

/// Of a node that was asked to count before it was known to have forgotten.
void Session::take_back_counter(Time now, int node, core::ClaimId id) {
  const core::Claim* const claim = engine_.claim(id);
  if (claim == nullptr) return;
  bytes_.clear();
  redis::append_counter_taken_back(bytes_, claim->key());
  // Nobody waits for the answer: no repair has this tag.
  constexpr core::SlotId nobodys{0, std::numeric_limits<std::uint32_t>::max()};
  put(now, node, core::Tag{nobodys, core::uncounted, core::CommandKind::repair});
}

void Session::send_batch(Time now) {
  const core::CommandKind kind = batch_.kind();
  if (batch_.tags().size() == 1 && kind != core::CommandKind::renewals) {
    const core::Send& alone = batch_.first();
    // With the source a script is told anew.
    if (alone.may_be_native && !alone.tag.with_source) {
      core::Send native = alone;
      native.tag.native = true;
      put(now, native);
    } else {
      put(now, alone);
    }
    return batch_.clear();
  }
  bytes_.clear();
  batch_.append_to(bytes_, kind == core::CommandKind::acquisitions ? wall_.now_us() : 0);
  const core::SlotId id = batches_.take();
  Sent& sent = batches_[id];
  sent.tags.assign(batch_.tags().begin(), batch_.tags().end());
  sent.unanswered = batch_.first().to.size();
  const core::Tag tag{id, core::uncounted, kind, batch_.first().tag.with_source};
  for (const int node : batch_.first().to) put(now, node, tag);
  batch_.clear();
}

void Session::send(Time now, const core::SendEntries& sending) {
  if (!batch_.empty()) send_batch(now);
  bytes_.clear();
  redis::append_command(bytes_, sending);
  for (const int node : sending.to) put(now, node, sending.tag);
  // As often as somebody waits and asks for his place.
  if (now < next_ping_) return;
  next_ping_ = now + sending.life / 3;
  ping(now);
}

void Session::ping(Time now) {
  for (int node = 0; node < nodes(); ++node) {
    Subscriber& subscriber = *subscribers_[static_cast<std::size_t>(node)];
    subscriber.ping(now);
    if (subscriber.has_events()) touched(node + nodes());
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
  for (int node = 0; node < nodes(); ++node) {
    Subscriber& subscriber = *subscribers_[static_cast<std::size_t>(node)];
    if (on) {
      subscriber.listen(now, channel);
    } else {
      subscriber.leave(channel);
    }
    if (subscriber.has_events()) touched(node + nodes());
  }
}

}  // namespace quorumlock::client
