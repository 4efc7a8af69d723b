#pragma once

#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "sim/server.hpp"
#include "sim/world/client.hpp"
#include "sim/world/exclusion.hpp"
#include "sim/world/fencing.hpp"
#include "sim/world/order.hpp"
#include "sim/world/telling.hpp"
#include "sim/world/tidiness.hpp"

namespace quorumlock::sim {

/// Clients, nodes, the network between them and all that may happen to them, from one seed: the
/// same seed is the same history, event for event.
class World {
 public:
  /// `trace` may be null.
  World(const Draw& draw, std::ostream* trace);

  /// What was wrong first; empty where nothing was.
  std::string run();

  struct Figures {
    std::size_t acquired = 0, refused = 0, renewed = 0, ended = 0, faults = 0, commands = 0,
                raised = 0, in_order = 0, native = 0;
  };
  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  using Action = std::function<void()>;
  struct Event {
    TrueTime when;
    std::uint64_t order;
    Action action;
    bool operator<(const Event& other) const {
      return std::tie(when, order) > std::tie(other.when, other.order);
    }
  };

  // world.cpp: time and the end
  void at(TrueTime when, Action action);
  void after(TrueTime span, Action action) { at(now_ + span, std::move(action)); }
  void run_until(TrueTime end);
  void heal();
  void demand_progress();
  void demand_order();
  void demand_tidiness();
  void report(const std::string& sentence);
  template <class... Words>
  void trace(const Words&... words);
  TrueTime draw_span(TrueTime about);

  // permits.cpp: semaphores
  void demand_permits();
  std::vector<std::size_t> ask_for_permits(int count, core::Duration wait);

  // network.cpp: connections, bytes and their delays
  void turn(Client& client);
  void plan_turn(Client& client);
  void for_client(std::size_t number, std::size_t life, Action action);
  void open(Client& client, int number);
  void shut(Client& client, int number);
  void write(Client& client, int number, bool rest_is_late);
  void deliver(int node, int connection, std::string bytes);
  void deliver_at(TrueTime when, int node, int connection, std::string bytes);
  void serve(int node);
  /// Of a vote or a release: the locks' keys, and the owner that it is for.
  struct Owner {
    std::vector<std::string> keys;
    std::string token;
    bool releases = false;
  };
  static std::vector<Owner> owners_of(const Words& words);
  void look_at_owner(int node, std::size_t client, const Owner& owner);
  void look_at(int node);
  void answer(int node, int connection, std::string bytes);
  void lose(Client& client, int wire_number, bool runs_on);
  void lose_all(int node);
  TrueTime arrival(std::size_t client, int node, bool to_node, TrueTime& last);

  // users.cpp: what clients do with their locks
  void begin_users();
  void act(std::size_t client, std::size_t life);
  void all_ask();
  Operation& acquire(Client& client, core::Duration wait, bool ordered, bool of_any_key = true);
  Operation& ask(Client& client, core::Duration wait, bool ordered, bool of_any_key);
  void draw_keys(Operation& one);
  void name_waiters(const Client& client);
  void use(std::size_t operation);
  void give_back(Operation& one);
  void carry_out(Client& client, const client::Session::Output& output);
  Operation* of_lease(core::UserId user);
  void over(Operation& one);
  void extended_to(Operation& one, core::Time deadline);

  // faulty.cpp: what goes wrong
  void plan_faults();
  void inject(Fault fault);
  void betray(Client& client, core::NodeSet granted);
  void wander(std::size_t client);
  void has_voted(int node);
  TrueTime outlast(Client& client, int node, TrueTime arrival);
  TrueTime hinder(Client& client, int node, TrueTime arrival);
  void crash(int node, TrueTime away);
  void restart(int node);
  void forgets(int node);
  void resume(Client& client);

  const Draw draw_;
  std::ostream* trace_;
  const std::string lock_;  ///< the key of most; that of a semaphore where the draw has permits
  test::SeededRandom random_;
  TrueTime now_{};
  std::uint64_t events_planned_ = 0;
  std::priority_queue<Event> events_;
  std::deque<Server> nodes_;
  std::deque<Client> clients_;
  std::deque<Operation> operations_;

  struct Path {
    TrueTime blocked_to{}, blocked_from{};  ///< nothing arrives before
    TrueTime extra{};                       ///< each message takes so much longer
    int percent = 100;                      ///< how slow it is, of the draw's delay
    bool lost = false;                      ///< a connection has broken since the beginning
  };
  std::vector<std::vector<Path>> paths_;  ///< by client and node
  /// Who is at the other end of a node's connection: client, life, epoch, and which of its wires.
  struct Peer {
    std::size_t client, life;
    std::uint64_t epoch;
    int wire;
  };
  std::vector<std::map<int, Peer>> peers_;  ///< by node and connection
  std::vector<std::string> records_;        ///< the enrolment of each node, as last looked at
  std::vector<Server::Data> copies_;        ///< of each node, from a while ago
  TrueTime next_relapse_{};                 ///< when a node may forget what it has voted
  bool healing_ = false;
  std::string violation_;
  Exclusion exclusion_;
  Fencing fencing_;
  Telling telling_;
  Tidiness tidiness_;
  Order order_;
  Figures figures_;
};

double rate_within_the_bound(const Draw& draw, test::SeededRandom& random);

}  // namespace quorumlock::sim
