#include "sim/world/stale_source.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/world/records.hpp"
#include "sim/world/world.hpp"
#include "verbs/keys.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

void StaleSource::plan() {
  if (!draw_.stale_source || draw_.nodes != 5 || draw_.clients != 4) return;
  // A repair reads the first three nodes that are not the one being repaired.
  flushed_ = random_.between(0, 2);
  others_ = {(flushed_ + 1) % 3, (flushed_ + 2) % 3};
  after(40 * TrueTime(draw_.delay), [this] { lock_on_three(); });
}

void StaleSource::once(std::function<bool()> ready, Action then, int looks) {
  if (scene_.healing || looks == 0) return;
  if (ready()) return then();
  after(draw_.delay, [this, ready = std::move(ready), then = std::move(then), looks]() mutable {
    once(std::move(ready), std::move(then), looks - 1);
  });
}

std::optional<std::size_t> StaleSource::acquire(Role client, std::string_view key) {
  Operation one;
  one.key = key;
  one.terms = {.ttl = draw_.ttl, .stop_margin = draw_.ttl / 10};
  one.kept = true;
  const std::size_t number =
      world_.users.request(clients_[client], std::move(one), draw_.until, false).number;
  world_.processes.turn(clients_[client]);
  return number;
}

void StaleSource::lock_on_three() {
  ++figures_.faults;
  trace("FAULT client 1 sees nodes ", flushed_ + 1, ", ", restarted_ + 1, " and ", ahead_ + 1,
        " only; client 2 sees none, and client 4 does not see node ", restarted_ + 1);
  for (const int node : others_) world_.paths.hide(holder, node, for_good());
  for (int node = 0; node < draw_.nodes; ++node) {
    world_.paths.hide(later_holder, node, for_good());
  }
  world_.paths.hide(witness, restarted_, for_good());
  const std::size_t number = *acquire(holder, scene_.lock);
  once([this, number] { return is_held(number); },
       [this, number] {
         world_.users.give_back(operations_[number]);
         world_.processes.turn(clients_[holder]);
         for (int node = 0; node < draw_.nodes; ++node) {
           world_.paths.hide(holder, node, for_good());
         }
         after(20 * TrueTime(draw_.delay), [this] { forget_two(); });
       });
}

void StaleSource::forget_two() {
  if (scene_.healing) return;
  trace("FAULT node ", restarted_ + 1, " restarts");
  node_at(restarted_).crash();
  world_.network.lose_all(restarted_);
  after(draw_.delay, [this] { world_.faults.restart(restarted_); });
  after(TrueTime(draw_.max_ttl) * random_.between(4, 10) / 100, [this] { forget_the_third(); });
}

void StaleSource::forget_the_third() {
  if (scene_.healing) return;
  trace("FAULT FLUSHALL on node ", flushed_ + 1);
  node_at(flushed_).data.clear();
  world_.faults.forgets(flushed_);
  late_until_ = now() + TrueTime(draw_.max_ttl) * 105 / 100 + 100 * TrueTime(draw_.delay);
  // A client that is not idle notices that the node has no record.
  acquire(witness, "other");
  once(
      [this] {
        return membership_of(node_at(restarted_), now()) && membership_of(node_at(flushed_), now());
      },
      [this] { lock_on_the_others(); });
}

void StaleSource::lock_on_the_others() {
  trace("FAULT client 2 sees nodes ", others_[0] + 1, ", ", others_[1] + 1, " and ",
        restarted_ + 1);
  for (const int node : {others_[0], others_[1], restarted_}) {
    world_.paths.hide(later_holder, node, now());
  }
  world_.processes.die(clients_[later_holder]);
  acquire(later_holder, scene_.lock);
}

TrueTime StaleSource::delay(const Client& client, int node, std::string_view bytes,
                            TrueTime arrival) {
  const std::string asks = "GET\r\n$" + std::to_string(redis::enrolment_key.size()) + "\r\n";
  const bool is_it = client.number == repairer && node == flushed_ && late_until_ > TrueTime() &&
                     bytes.find(asks + std::string(redis::enrolment_key)) != bytes.npos;
  if (!is_it || scene_.healing || random_.one_in(8)) return arrival;
  trace("FAULT the question of client ", client.number + 1, " for the record of node ", node + 1,
        " is late");
  world_.paths.between(client.number, node).lost = true;
  return std::max(arrival, late_until_);
}

}  // namespace quorumlock::sim
