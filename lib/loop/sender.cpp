#include "loop/sender.hpp"

#include <chrono>

#include "verbs/line.hpp"
#include "wire/words.hpp"

namespace quorumlock::detail {

using core::Time;
using namespace std::chrono_literals;

Sender::Sender(Links& links, core::Engine& engine, core::WallClock& wall)
    : links_(links), engine_(engine), wall_(wall) {}

void Sender::send(Time now, const core::Send& send) {
  const bool waits = redis::Batch::can_be(send);
  // The batch goes out first, since the commands for one lock must stay in order.
  if (holds_batch() && !(waits && batch_.takes(send))) flush(now);
  if (waits) {
    batch_.add(send);
  } else {
    put(now, send);
  }
}

/// The wall clock's time when the round began. A command that is sent again, since a node's
/// record has changed or a script was missing, has the same number as before: nodes that are asked
/// at different times then grant one fencing token, and need not be asked to raise it. So the
/// offset of the wall clock stays as it is as long as it is nearly right.
std::int64_t Sender::wall_us(const core::Send& send) {
  const std::int64_t begun = send.begun.time_since_epoch() / 1us;
  if (send.tag.again == 0 && !send.tag.with_source) {
    const std::int64_t late = wall_.now_us() - begun - wall_offset_us_;
    if (late < -1'000 || late > 50'000) engine_.set_wall(wall_offset_us_ += late);
  }
  return begun + wall_offset_us_;
}

void Sender::put(Time now, const core::Send& send) {
  const bool tells_time = send.tag.kind == core::CommandKind::acquire && send.fenced;
  around_.wall_us = tells_time ? wall_us(send) : 0;
  around_.max_ttl = engine_.config().max_ttl;
  bytes_.clear();
  redis::append_command(bytes_, send, around_);
  for (const int node : send.to) {
    if (send.tag.kind == core::CommandKind::renew) {
      const std::int64_t clock = engine_.clock_of(now, node, send.left);
      put_renewal(now, node, send.tag, clock == 0 ? 0 : clock + send.left / 1us);
    } else {
      put(now, node, send.tag);
    }
  }
}

/// Sends bytes_, a renewal, followed by the node's own time.
void Sender::put_renewal(Time now, int node, const core::Tag& tag, std::int64_t node_time_us) {
  const std::size_t size = bytes_.size();
  redis::append_number(bytes_, node_time_us);
  put(now, node, tag);
  bytes_.resize(size);
}

/// Sends bytes_.
void Sender::put(Time now, int node, const core::Tag& tag) {
  links_.link(node).send(now, tag, bytes_);
  if (links_.link(node).has_events()) links_.touched(node);
}

void Sender::ask_clocks(Time now, int node) {
  bytes_.clear();
  redis::append_command(bytes_, {"TIME"});
  for (const int other : links_.nodes()) {
    if (other == node) continue;
    put(now, other, core::Tag{core::SlotId(), core::uncounted, core::CommandKind::clock});
  }
}

void Sender::flush(Time now) {
  if (!holds_batch()) return;
  const core::CommandKind kind = batch_.kind();
  bytes_.clear();
  around_.wall_us = kind == core::CommandKind::acquisitions ? wall_us(batch_.first()) : 0;
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

void Sender::send(Time now, const core::SendEntries& sending) {
  flush(now);
  bytes_.clear();
  redis::line::append(bytes_, sending);
  for (const int node : sending.to) put(now, node, sending.tag);
}

void Sender::send(Time now, int node, const core::Tag& tag, std::string_view bytes) {
  flush(now);
  links_.link(node).send(now, tag, bytes);
  if (links_.link(node).has_events()) links_.touched(node);
}

bool Sender::is_batch(core::CommandKind kind) {
  using core::CommandKind;
  return kind >= CommandKind::renewals && kind <= CommandKind::releases;
}

void Sender::on_answer(int node, const core::Tag& tag, const core::Answer& said,
                       const redis::Reply* reply) {
  begin_to_hand_on(node, tag, false);
  Sent& sent = batches_[tag.claim];
  --sent.unanswered;
  handing_.answers.read(tag.kind, said, reply, sent.tags.size());
}

void Sender::on_late(int node, const core::Tag& tag) {
  begin_to_hand_on(node, tag, true);
}

void Sender::begin_to_hand_on(int node, const core::Tag& tag, bool late) {
  handing_.batch = tag.claim;
  handing_.node = node;
  handing_.late = late;
  handing_.next = 0;
}

bool Sender::hand_on(Time now) {
  Sent* sent = batches_.find(handing_.batch);
  if (handing_.next == sent->tags.size()) {
    if (sent->unanswered == 0) batches_.give_back(handing_.batch);
    handing_.batch = core::SlotId();
    return false;
  }
  const core::Tag tag = sent->tags[handing_.next];
  if (handing_.late) {
    engine_.on_timeout(now, handing_.node, tag);
  } else {
    engine_.on_answer(now, handing_.node, tag, handing_.answers.of(handing_.next));
  }
  ++handing_.next;
  return true;
}

}  // namespace quorumlock::detail
