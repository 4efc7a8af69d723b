#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

// The calls that the users of each client make, and the results that they get.
namespace quorumlock::sim {

using namespace std::chrono_literals;

namespace {

/// Acquisitions and leases are different user objects, with different ids.
constexpr core::UserId lease_offset = 1'000'000;

}  // namespace

void World::begin_users() {
  for (Client& client : clients_) {
    const bool late = draw_.late_comer && &client == &clients_.back();
    after(draw_span(draw_.hold) + (late ? TrueTime(draw_.max_ttl) * 7 / 4 : TrueTime()),
          [this, number = client.number, life = client.life] { act(number, life); });
  }
}

/// Now and then a client does something.
void World::act(std::size_t number, std::size_t life) {
  if (healing_ || clients_[number].life != life) return;
  for_client(number, life, [this, number] {
    Client& client = clients_[number];
    if (healing_ || is_quiet(client)) return;
    // A client makes one request at a time, so that no votes split.
    const auto goes_on = [](const Operation& one) { return one.answers == 0 || one.held; };
    if (draw_.alone() && std::ranges::any_of(operations_, goes_on)) return;
    for (int more = draw_.at_once - 1; more > 0; --more) {
      ask(client, core::Duration(), false, true);
    }
    const core::Duration wait =
        random_.one_in(2) ? core::Duration() : core::Duration(draw_span(2 * draw_.ttl));
    Operation& one = acquire(client, wait, random_.between(1, 100) <= draw_.in_order);
    if (wait > 0s && random_.one_in(3)) {
      // Some users cancel before they begin to wait, in the middle of a round.
      after(draw_span(random_.one_in(2) ? wait / 2 : 2 * draw_.delay), [this, index = one.number] {
        Operation& tired = operations_[index];
        for_client(tired.client, tired.life, [this, index] {
          Operation& waiting = operations_[index];
          clients_[waiting.client].session->engine().cancel(clients_[waiting.client].local(now()),
                                                            waiting.waiter, Errc::cancelled);
        });
      });
    }
  });
  after(draw_span(draw_.every), [this, number, life] { act(number, life); });
}

/// Each client asks, at about the same time and whatever it holds.
void World::all_ask() {
  if (!draw_.rivals_watch || healing_) return;
  for (const Client& client : clients_) {
    after(draw_span(10 * draw_.delay), [this, number = client.number, life = client.life] {
      for_client(number, life, [this, number] {
        Client& asks = clients_[number];
        if (!healing_ && !is_quiet(asks)) acquire(asks, core::Duration(), false);
      });
    });
  }
}

Operation& World::acquire(Client& client, core::Duration wait, bool ordered, bool of_any_key) {
  Operation& one = ask(client, wait, ordered, of_any_key);
  turn(client);
  lists_follow(client.number);
  return one;
}

/// Makes the request alone; the client's next turn sends it.
Operation& World::ask(Client& client, core::Duration wait, bool ordered, bool of_any_key) {
  Operation one;
  one.number = operations_.size();
  one.client = client.number;
  one.life = client.life;
  const bool any = of_any_key && draw_.keys > 1 && !stranger(client);
  one.key = any && random_.one_in(2) ? "other" : lock_;
  if (draw_.sets > 0) draw_keys(one);
  if (draw_.capacity != 0 && one.key == lock_) {
    const bool another = draw_.capacities_differ && client.number % 2 == 1;
    one.capacity = draw_.capacity + (another ? 1 : 0);
  }
  one.terms.ttl = draw_.ttl;
  one.terms.stop_margin = draw_.ttl / 10;
  one.terms.auto_extend = !random_.one_in(3);
  if (random_.one_in(5)) one.terms.max_hold = draw_.ttl * 2;
  if (random_.one_in(5)) one.terms.max_renewals = 2;
  if (keeps_) {
    one.kept = true;
    one.terms = {.ttl = draw_.ttl, .stop_margin = draw_.ttl / 10};
  }
  one.shared = draw_.to_read > 0 && random_.between(1, 100) <= draw_.to_read;
  one.terms.mode = one.shared ? LockMode::shared : LockMode::exclusive;
  one.requested = client.local(now());
  one.wait = wait;
  one.asked = now();
  one.ordered = ordered && wait > 0s;
  operations_.push_back(one);
  Operation& kept = operations_.back();
  trace("client ", client.number + 1, " asks for ", one.key, one.shared ? " to read" : "",
        ", operation ", one.number);
  for (const std::string& other : one.others) trace("    and for ", other);
  core::AcquireRequest request{kept.key,
                               kept.terms,
                               core::later(one.requested, wait),
                               wait > 0s,
                               static_cast<core::UserId>(one.number),
                               one.ordered,
                               kept.others};
  request.capacity = kept.capacity;
  client.session->engine().acquire(one.requested, request, &kept.waiter);
  return kept;
}

/// Draws one, two or three of the keys, in any order.
void World::draw_keys(Operation& one) {
  std::vector<std::string> keys = {"lock", "other", "third"};
  const auto count = static_cast<std::size_t>(draw_.keys);
  for (std::size_t i = count; i > 1; --i) std::swap(keys[i - 1], keys[random_.index(i)]);
  one.key = keys[0];
  if (random_.between(1, 100) > draw_.sets) return;
  // Sets of two are drawn more often than three: each then leaves one key to the others.
  const auto last = random_.one_in(4) ? count : std::min<std::size_t>(count, 2);
  one.others.assign(keys.begin() + 1, keys.begin() + static_cast<std::ptrdiff_t>(last));
}

/// Notes the names by which the nodes know this client's waiters in a line.
void World::name_waiters(const Client& client) {
  if (!draw_.order_holds()) return;
  core::Engine& engine = client.session->engine();
  for (Operation& one : operations_) {
    if (!one.ordered || one.answers > 0 || one.dead || one.client != client.number) continue;
    const auto [place, ticket] = engine.place_of(one.waiter);
    if (place == 0) continue;
    one.in_line = std::min(one.in_line, now());
    if (ticket == 0) continue;
    order_.named(one, (one.shared ? "r" : "w") + engine.process() + "." + std::to_string(place),
                 ticket);
  }
}

/// The holder has done its work, or a part of it.
void World::use(std::size_t number) {
  Operation& one = operations_[number];
  if (one.dead || !one.held || one.kept) return;
  for_client(one.client, one.life, [this, number] {
    Operation& lease = operations_[number];
    if (!lease.held) return;
    Client& client = clients_[lease.client];
    core::Engine& engine = client.session->engine();
    const int what = random_.between(1, 20);
    if (what <= 13 || healing_) {
      give_back(lease);
      if (draw_.at_once == 1) return;
      for (Operation& other : operations_) {
        if (other.held && !other.dead && !other.detached && other.client == client.number) {
          give_back(other);
        }
      }
    } else if (what <= 17) {
      lease.asked_again = now();
      engine.extend(client.local(now()), lease.claim,
                    random_.one_in(2) ? draw_.ttl : draw_.max_ttl);
      after(draw_span(draw_.hold), [this, number] { use(number); });
    } else if (what == 18 && !draw_.alone()) {  // otherwise it is unknown when its keys are gone
      lease.detached = true;
      engine.detach(client.local(now()), lease.claim);
    } else if (draw_.to_read > 0 && !lease.shared) {
      make_reader(lease);
      after(draw_span(draw_.hold), [this, number] { use(number); });
    } else {
      after(draw_span(draw_.hold), [this, number] { use(number); });
    }
  });
}

void World::give_back(Operation& one) {
  Client& client = clients_[one.client];
  trace("client ", client.number + 1, " releases operation ", one.number);
  one.asked_again = now();
  client.session->engine().release(client.local(now()), one.claim, random_.one_in(2));
  over(one);
  order_.released(one, now());
}

void World::over(Operation& one) {
  one.held = false;
}

void World::extended_to(Operation& one, core::Time deadline) {
  one.deadline = deadline;
  one.valid_until = clients_[one.client].when(deadline);
  exclusion_.became_valid(one, now());
  const bool nothing_lost = draw_.timing_holds() && !draw_.lists_change() &&
                            !draw_.has(Fault::flush) && !draw_.has(Fault::fail_over) &&
                            !draw_.swaps_disks() && (draw_.durable || !draw_.has(Fault::crash));
  if (!nothing_lost) return;
  exclusion_.witness(one, nodes_, now());
  at(one.valid_until - 1ns, [this, number = one.number, until = one.valid_until] {
    const Operation& last = operations_[number];
    if (last.valid_until == until) exclusion_.witness(last, nodes_, now());
  });
}

Operation* World::of_lease(core::UserId user) {
  return &operations_[user - lease_offset];
}

void World::carry_out(Client& client, const detail::Session::Output& output) {
  using detail::Session;
  core::Engine& engine = client.session->engine();
  const core::Time local = client.local(now());
  if (const auto* connect = std::get_if<Session::Connect>(&output)) {
    open(client, connect->wire);
  } else if (const auto* disconnect = std::get_if<Session::Disconnect>(&output)) {
    shut(client, disconnect->wire);
  } else if (std::holds_alternative<Session::ListChanged>(output)) {
    client.list_changed();
  } else if (const auto* note = std::get_if<Session::Note>(&output)) {
    trace("client ", client.number + 1, " notes: ", note->sentence);
    client.blames_itself |= note->sentence.find("own clock stood still") != std::string::npos;
  } else if (const auto* acquired = std::get_if<core::Acquired>(&output)) {
    Operation& one = operations_[acquired->user];
    const core::Claim& claim = *engine.claim(acquired->claim);
    ++one.answers;
    ++figures_.acquired;
    telling_.answered(one);
    if (one.wait == 0s) prompt(one, one.asked, "won");
    soon(one);
    order_.won(one, acquired->attempts, now());
    figures_.in_order = order_.contended();
    one.claim = acquired->claim;
    one.token = claim.token();
    one.fence = claim.fencing.number;
    one.slot = claim.permit.slot;
    one.acquired = local;
    one.began = client.when(claim.round.start());
    one.won = now();
    one.deadline = claim.deadline;
    one.held = true;
    trace("client ", client.number + 1, " HOLDS ", one.key, ", operation ", one.number,
          ", fencing token ", one.fence, ", owner ", one.token.substr(0, 8));
    if (draw_.fencing) fencing_.decided(one, client.when(claim.round.start()), now());
    const core::NodeSet granted = claim.round.tally.granted_by();
    engine.adopt(acquired->claim, static_cast<core::UserId>(one.number) + lease_offset);
    if (draw_.faults_follow_wins && draw_.has(Fault::flush) && random_.one_in(3) && !healing_) {
      after(draw_span(draw_.delay),
            [this, number = client.number, granted] { betray(clients_[number], granted); });
    } else if (draw_.faults_follow_wins && !draw_.faults.empty() && random_.one_in(2) &&
               !healing_) {
      after(draw_span(draw_.delay), [this] {
        if (!healing_) inject(draw_.faults[random_.index(draw_.faults.size())]);
      });
    }
    exclusion_.won(one, local);
    extended_to(one, one.deadline);
    if (draw_.by_token > 0 && draw_.has(Fault::drop_lock) && !one.brief && random_.one_in(3)) {
      after(draw_.ttl * random_.between(1, 20) / 100,
            [this, number = one.number] { usurp(number); });
    }
    after(draw_span(one.in_crowd || one.brief ? draw_.delay / 4 : draw_.hold),
          [this, number = one.number] { use(number); });
  } else if (const auto* refused = std::get_if<core::Refused>(&output)) {
    Operation& one = operations_[refused->user];
    ++one.answers;
    ++figures_.refused;
    telling_.answered(one);
    order_.left(one, now());
    telling_.refused(one, *refused, draw_.node_timeout, local, client.awake);
    if (one.wait == 0s) prompt(one, one.asked, "refused");
    if (refused->why != Errc::cancelled) soon(one);
    if (refused->why == Errc::misconfigured && !draw_.capacities_differ && !draw_.lists_change()) {
      report("operation " + std::to_string(one.number) + " is refused as misconfigured");
    }
    trace("client ", client.number + 1, " is refused, operation ", one.number, ": ",
          make_error_code(refused->why).message());
  } else if (const auto* renewed = std::get_if<core::Renewed>(&output)) {
    Operation& one = *of_lease(renewed->user);
    if (!one.held) return;
    ++figures_.renewed;
    trace("client ", client.number + 1, " has renewed operation ", one.number);
    exclusion_.renewed(one, one.valid_until, now());
    extended_to(one, renewed->valid_until);
  } else if (const auto* risk = std::get_if<core::AtRisk>(&output)) {
    Operation& one = *of_lease(risk->user);
    telling_.at_risk(one, local, client.awake);
    one.told = true;
  } else if (const auto* extended = std::get_if<core::Extended>(&output)) {
    if (extended->by_token) return extended_by_token(*extended);
    const Operation& one = *of_lease(extended->user);
    prompt(one, one.asked_again, "extended");
  } else if (const auto* released = std::get_if<core::Released>(&output)) {
    if (released->by_token) return;  // its user is no lease
    const Operation& one = *of_lease(released->user);
    prompt(one, one.asked_again, "released");
  } else if (const auto* ended = std::get_if<core::Ended>(&output)) {
    Operation& one = *of_lease(ended->user);
    ++figures_.ended;
    telling_.ended(one, local, client.awake);
    trace("client ", client.number + 1, " has lost operation ", one.number, ": ",
          make_error_code(ended->why).message());
    over(one);
  }
}

}  // namespace quorumlock::sim
