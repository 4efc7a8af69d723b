#include "sim/world/periods.hpp"

#include <algorithm>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

bool Periods::holds() const {
  return draw_.fencing && draw_.counters_hold() && !forgotten_;
}

void Periods::forgotten() {
  if (!runs_.empty()) forgotten_ = true;
}

void Periods::won(Operation& lease) {
  if (!draw_.periods || scene_.healing) return;
  lease.kept = true;
  const bool next = undone_ == 0 || !random_.one_in(4);
  const std::uint64_t period = next ? undone_ : undone_ - 1;
  runs_.push_back({runs_.size(), lease.number, period, {}});
  ask(runs_.size() - 1, false);
}

/// Asks the nodes whether the run's period is done, or to note that.
void Periods::ask(std::size_t number, bool done) {
  Run& run = runs_[number];
  const Operation& lease = operations_[run.operation];
  run.asks = true;
  Client& client = clients_[lease.client];
  run.query.begin(client.local(now()), *client.session, {static_cast<std::uint32_t>(number), 0},
                  {.key = lease.key,
                   .owner = lease.token,
                   .fence = lease.fence,
                   .keep = 24h,
                   .period = run.period,
                   .done = done});
}

void Periods::answered(Client& client, const detail::Session::Answered& answer) {
  if (answer.tag.kind != core::CommandKind::once) return;
  const std::size_t number = answer.tag.claim.index;
  Run& run = runs_[number];
  const Operation& lease = operations_[run.operation];
  if (lease.client != client.number || lease.life != client.life || !run.asks) return;
  run.query.take(client.local(now()), *client.session, answer);
  if (run.query.verdict() == core::Verdict::pending) return;
  const bool valid = lease.held && client.local(now()) < lease.deadline;
  if (run.query.verdict() == core::Verdict::won && valid) return told(run, run.query.is_done());
  run.asks = false;
  if (!valid) return;
  after(draw_span(draw_.pause), [this, number] {
    const Operation& one = operations_[runs_[number].operation];
    world_.processes.run(one.client, one.life, [this, number] {
      const Operation& still = operations_[runs_[number].operation];
      Client& asks = clients_[still.client];
      if (!still.held || asks.local(now()) >= still.deadline) return;
      runs_[number].asks = true;
      runs_[number].query.again(asks.local(now()), *asks.session);
    });
  });
}

/// A quorum of nodes has answered. Of two holders the later one is that with the greater token.
void Periods::told(Run& run, bool done) {
  run.asks = false;
  const std::uint64_t fence = operations_[run.operation].fence;
  const std::string which =
      "period " + std::to_string(run.period) + ", operation " + std::to_string(run.operation);
  const auto fence_of = [this](const Run& of) { return operations_[of.operation].fence; };
  if (run.completed) {
    trace(which, ", is done");
    ++figures_.periods;
    const bool too_late = std::ranges::any_of(runs_, [&](const Run& other) {
      return other.begun && fence_of(other) > fence && other.period <= run.period;
    });
    if (too_late && holds())
      report(which + ", is done, and a later holder was told that it is not");
  } else if (done) {
    trace(which, ", was done before");
    const bool by_somebody = std::ranges::any_of(
        runs_, [&](const Run& other) { return other.completed && other.period >= run.period; });
    if (!by_somebody && holds()) report(which + ", is said to be done, and nobody has done it");
  } else {
    trace(which, ", is begun");
    run.begun = true;
    const bool again = std::ranges::any_of(runs_, [&](const Run& other) {
      return other.done && fence_of(other) < fence && other.period >= run.period;
    });
    if (again && holds()) report(which + ", is done again");
    const std::size_t number = run.number;
    return after(draw_span(draw_.hold), [this, number] {
      const Operation& lease = operations_[runs_[number].operation];
      world_.processes.run(lease.client, lease.life, [this, number] { work(number); });
    });
  }
  run.done = true;
  undone_ = std::max(undone_, run.period + 1);
  Operation& lease = operations_[run.operation];
  if (lease.held) world_.users.give_back(lease);
}

/// The work is done, if the lease has lasted until now.
void Periods::work(std::size_t number) {
  const Operation& lease = operations_[runs_[number].operation];
  if (!lease.held || clients_[lease.client].local(now()) >= lease.deadline) return;
  runs_[number].completed = true;
  trace("period ", runs_[number].period, ", operation ", lease.number, ", was worked on");
  ask(number, true);
}

}  // namespace quorumlock::sim
