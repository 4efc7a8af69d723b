#include "sim/world/results.hpp"

#include <algorithm>
#include <variant>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// Acquisitions and leases are different user objects, with different ids.
constexpr core::UserId lease_offset = 1'000'000;

}  // namespace

void Results::carry_out(Client& client, const detail::Session::Output& output) {
  using detail::Session;
  const core::Time local = client.local(now());
  if (const auto* connect = std::get_if<Session::Connect>(&output)) {
    world_.network.open(client, connect->wire);
  } else if (const auto* disconnect = std::get_if<Session::Disconnect>(&output)) {
    world_.network.shut(client, disconnect->wire);
  } else if (std::holds_alternative<Session::ListChanged>(output)) {
    client.list_changed(now());
  } else if (const auto* changed = std::get_if<Session::NodeChanged>(&output)) {
    const bool up = changed->state == core::LinkState::up;
    trace("client ", client.number + 1, " notes: node ", changed->node + 1,
          up ? " votes" : " does not vote: " + client.session->trouble(local, changed->node));
  } else if (const auto* answer = std::get_if<Session::Answered>(&output)) {
    world_.periods.answered(client, *answer);
  } else if (const auto* news = std::get_if<Session::News>(&output)) {
    trace("client ", client.number + 1, " notes: ", news->reason);
  } else if (const auto* jumped = std::get_if<core::ClockJumped>(&output)) {
    trace("client ", client.number + 1, " notes: node ", jumped->node + 1, " has a wrong clock");
  } else if (std::holds_alternative<core::ClockStood>(output)) {
    trace("client ", client.number + 1, " notes: its own clock stood still");
    client.blames_itself = true;
  } else if (const auto* acquired = std::get_if<core::Acquired>(&output)) {
    won(client, *acquired);
  } else if (const auto* no = std::get_if<core::Refused>(&output)) {
    refused(client, *no);
  } else if (const auto* renewed = std::get_if<core::Renewed>(&output)) {
    Operation& one = of_lease(renewed->user);
    if (!one.held) return;
    ++figures_.renewed;
    trace("client ", client.number + 1, " has renewed operation ", one.number);
    const core::Claim& claim = *client.session->engine().claim(renewed->claim);
    checks_.referee.believes(believed(one, claim, renewed->valid_until, one.deadline));
    checks_.exclusion.renewed(one, one.valid_until, now());
    extended_to(one, renewed->valid_until);
  } else if (const auto* risk = std::get_if<core::AtRisk>(&output)) {
    Operation& one = of_lease(risk->user);
    checks_.telling.at_risk(one, local, client.awake);
    one.told = true;
  } else if (const auto* extended = std::get_if<core::Extended>(&output)) {
    if (extended->by_token) return world_.tokens.extended(*extended);
    const Operation& one = of_lease(extended->user);
    prompt(one, one.asked_again, "extended");
  } else if (const auto* released = std::get_if<core::Released>(&output)) {
    if (released->by_token) return;  // its user id is not that of a lease
    const Operation& one = of_lease(released->user);
    prompt(one, one.asked_again, "released");
  } else if (const auto* ended = std::get_if<core::Ended>(&output)) {
    Operation& one = of_lease(ended->user);
    ++figures_.ended;
    checks_.telling.ended(one, local, client.awake);
    trace("client ", client.number + 1, " has lost operation ", one.number, ": ",
          make_error_code(ended->why).message());
    one.held = false;
    if (one.kept && draw_.careful && !scene_.healing) {
      report("operation " + std::to_string(one.number) +
             " has lost its lease although only the list of nodes changed");
    }
  }
}

void Results::won(Client& client, const core::Acquired& acquired) {
  Operation& one = operations_[acquired.user];
  core::Engine& engine = client.session->engine();
  const core::Claim& claim = *engine.claim(acquired.claim);
  ++one.answers;
  ++figures_.acquired;
  checks_.telling.answered(one);
  if (one.wait == 0s) prompt(one, one.asked, "won");
  soon(one);
  checks_.order.won(one, acquired.attempts, now());
  figures_.in_order = checks_.order.contended();
  one.claim = acquired.claim;
  one.token = claim.token();
  one.fence = claim.fencing.number;
  one.slot = claim.permit.slot;
  one.acquired = client.local(now());
  one.began = client.when(claim.round.start());
  one.won = now();
  one.deadline = claim.deadline;
  one.held = true;
  trace("client ", client.number + 1, " HOLDS ", one.key, ", operation ", one.number,
        ", fencing token ", one.fence, ", owner ", one.token.substr(0, 8));
  if (draw_.fencing) checks_.fencing.decided(one, client.when(claim.round.start()), now());
  const core::NodeSet granted = claim.round.tally.granted_by();
  engine.adopt(acquired.claim, static_cast<core::UserId>(one.number) + lease_offset);
  if (draw_.faults_follow_wins && draw_.has(Fault::flush) && random_.one_in(3) && !scene_.healing) {
    after(draw_span(draw_.delay), [this, number = client.number, granted] {
      world_.faults.betray(clients_[number], granted);
    });
  } else if (draw_.faults_follow_wins && !draw_.faults.empty() && random_.one_in(2) &&
             !scene_.healing) {
    after(draw_span(draw_.delay), [this] {
      if (!scene_.healing) world_.faults.inject(draw_.faults[random_.index(draw_.faults.size())]);
    });
  }
  checks_.referee.believes(believed(one, claim, one.deadline, core::Time()));
  checks_.exclusion.won(one, one.acquired);
  extended_to(one, one.deadline);
  if (draw_.by_token > 0 && draw_.has(Fault::drop_lock) && !one.brief && random_.one_in(3)) {
    after(draw_.ttl * random_.between(1, 20) / 100,
          [this, number = one.number] { world_.tokens.usurp(number); });
  }
  after(draw_span(one.in_crowd || one.brief ? draw_.delay / 4 : draw_.hold),
        [this, number = one.number] { world_.users.use(number); });
  world_.periods.won(one);
}

/// What the referee has to know of a lease that was acquired, or renewed: then it had an end
/// before.
Referee::Believed Results::believed(const Operation& one, const core::Claim& claim,
                                    core::Time until, core::Time before) const {
  const Client& client = clients_[one.client];
  Referee::Believed believed;
  believed.operation = one.number;
  believed.client = one.client;
  believed.token = one.token;
  believed.renewed = before != core::Time();
  believed.fence = draw_.fencing ? one.fence : 0;
  believed.began = client.when(claim.round.start());
  believed.start = claim.round.start();
  believed.ttl = claim.round.ttl();
  believed.now = client.local(now());
  believed.until = until;
  believed.until_before = before;
  for (const auto& [since, list] : client.lists) {
    const TrueTime sooner = believed.began - since;
    if (sooner > 0ns) believed.lists.clear();
    believed.lists.push_back(list);
    // Nobody knows which came first, the round or the list.
    if (since > TrueTime() && sooner >= -1us && sooner <= 1us) {
      believed.lists.clear();
      break;
    }
  }
  believed.clock_stood = draw_.has(Fault::stand_still);
  believed.has_record = draw_.fencing;
  return believed;
}

void Results::refused(const Client& client, const core::Refused& refused) {
  Operation& one = operations_[refused.user];
  ++one.answers;
  ++figures_.refused;
  checks_.telling.answered(one);
  checks_.order.left(one, now());
  checks_.telling.refused(one, refused, draw_.node_timeout, client.local(now()), client.awake);
  if (one.wait == 0s) prompt(one, one.asked, "refused");
  if (refused.why != Errc::cancelled) soon(one);
  if (refused.why == Errc::misconfigured && !draw_.capacities_differ && !draw_.lists_change() &&
      !client.elsewhere) {
    report("operation " + std::to_string(one.number) + " is refused as misconfigured");
  }
  trace("client ", client.number + 1, " is refused, operation ", one.number, ": ",
        make_error_code(refused.why).message());
}

void Results::extended_to(Operation& one, core::Time deadline) {
  one.deadline = deadline;
  one.valid_until = clients_[one.client].when(deadline);
  checks_.exclusion.became_valid(one, now());
  const bool nothing_lost = draw_.timing_holds() && !draw_.lists_change() &&
                            !draw_.has(Fault::flush) && !draw_.has(Fault::fail_over) &&
                            !draw_.swaps_disks() && (draw_.durable || !draw_.has(Fault::crash));
  if (!nothing_lost) return;
  checks_.exclusion.witness(one, nodes_, now());
  at(one.valid_until - 1ns, [this, number = one.number, until = one.valid_until] {
    const Operation& last = operations_[number];
    if (last.valid_until == until) checks_.exclusion.witness(last, nodes_, now());
  });
}

Operation& Results::of_lease(core::UserId user) {
  return operations_[user - lease_offset];
}

/// Checks a single client whose idle connections were forgotten: if it waits, it notices at its
/// node_timeout, connects again and has the lock; in no order, after the pause of a lost attempt.
void Results::soon(const Operation& one) {
  if (!draw_.forgetful_paths || draw_.clients > 1 || scene_.healing || one.wait == 0s) return;
  const TrueTime pause = one.ordered ? TrueTime() : 2 * TrueTime(draw_.pause);
  const TrueTime most = TrueTime(draw_.node_timeout) * 101 / 100 + 2 * draw_.promptly() + pause;
  if (now() - one.asked <= most || one.wait < most) return;
  report("operation " + std::to_string(one.number) + " took " +
         std::to_string(static_cast<double>((now() - one.asked).count()) / 1e9) +
         " s although only idle connections were forgotten");
}

void Results::prompt(const Operation& one, TrueTime asked, const char* what) {
  if (!draw_.silences || scene_.healing || now() - asked <= draw_.promptly()) return;
  report("operation " + std::to_string(one.number) + " took " +
         std::to_string(static_cast<double>((now() - asked).count()) / 1e9) + " s to be " + what +
         " although a quorum of nodes answers");
}

}  // namespace quorumlock::sim
