#include "core/engine.hpp"

// Limits how many acquisitions are sent at once. Only first attempts are queued: an acquisition
// that has been sent before, or whose turn in the line has come, does not wait for new ones.
namespace quorumlock::core {

/// Queues an acquisition for as long as it waits, or for send_within if it does not wait.
void Engine::admit(Time now, WaiterId id) {
  admission_.queue(id);
  if (!waiters_[id].waits) waiter_timers_.set(id.index, later(now, config_.send_within));
}

/// Sends queued acquisitions one by one until there is an output or no more room. Attempts that are
/// decided at once, because no node is there, make room for the next.
const Output* Engine::next_of_queued() {
  while (!has_outputs() && admission_.may_send()) {
    const WaiterId id = admission_.take();
    if (!waiters_[id].waits) waiter_timers_.clear(id.index);
    begin(now_, id);
  }
  return has_outputs() ? &outputs_[next_output_++] : nullptr;
}

/// Begins an acquisition: makes its first attempt, or enters the line.
void Engine::begin(Time now, WaiterId id) {
  Waiter& waiter = waiters_[id];
  if (waiter.capacity != 0) begin_permit(waiter);
  if (waiter.ordered && wait_in_line(now, id)) return;
  attempt(now, id);
}

/// Refuses an acquisition whose wait ended in the queue, so that no node was ever asked.
void Engine::refuse_unsent(WaiterId id) {
  refuse(id, Errc::timed_out, waiters_[id].last, admission_.before(id));
}

}  // namespace quorumlock::core
