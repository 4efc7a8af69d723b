#include "sim/world/permits.hpp"

#include <algorithm>
#include <utility>

#include "sim/world/world.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;

/// Asks for permits. Without a wait, each request is answered before the next one is made; with a
/// wait, all requests have time to enter the line.
std::vector<std::size_t> Permits::ask(int count, core::Duration wait) {
  std::vector<std::size_t> asked;
  while (asked.size() < static_cast<std::size_t>(count)) {
    Client& client = clients_[asked.size() % clients_.size()];
    asked.push_back(world_.users.acquire(client, wait, true, false).number);
    for (int i = 0; i < 100 && wait == 0s && operations_[asked.back()].answers == 0; ++i) {
      run_until(now() + draw_.delay);
    }
  }
  if (wait > 0s) run_until(now() + 60 * draw_.delay);
  return asked;
}

void Permits::demand() {
  if (draw_.capacity == 0 || draw_.capacities_differ || !draw_.timing_holds()) return;
  run_until(now() + draw_.keys_live());
  const std::size_t first = operations_.size();
  const auto got = [this](const std::vector<std::size_t>& asked) {
    return static_cast<int>(std::ranges::count_if(
        asked, [this](std::size_t number) { return !operations_[number].token.empty(); }));
  };
  const auto give_back_all = [this](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (operations_[i].held) world_.users.give_back(operations_[i]);
    }
    for (Client& client : clients_) world_.processes.turn(client);
  };
  const std::string of_all = " of " + std::to_string(draw_.capacity) + " permits ";
  std::vector<std::size_t> holders = ask(draw_.capacity, 0s);
  if (const int found = got(holders); found < draw_.capacity) {
    report(std::to_string(found) + of_all + "were found although all is well");
  }
  const std::vector<std::size_t> late = ask(1, 0s);
  const bool still_held =
      std::ranges::all_of(holders, [this](std::size_t number) { return operations_[number].held; });
  if (still_held && got(late) > 0) report("one more than" + of_all + "was found");
  const std::size_t last = operations_.size();
  if (draw_.order_holds()) {
    const std::vector<std::size_t> waiters = ask(draw_.capacity, 1h);
    give_back_all(first, last);
    run_until(now() + 250 * draw_.delay);
    if (const int served = got(waiters); served < draw_.capacity) {
      report(std::to_string(served) + of_all + "are in use, and somebody waits for one");
    }
  }
  give_back_all(first, operations_.size());
  run_until(now() + 1s);
}

}  // namespace quorumlock::sim
