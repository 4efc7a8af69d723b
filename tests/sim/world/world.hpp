#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/server.hpp"
#include "sim/world/agenda.hpp"
#include "sim/world/client.hpp"
#include "sim/world/exclusion.hpp"
#include "sim/world/fencing.hpp"
#include "sim/world/history.hpp"
#include "sim/world/operators.hpp"
#include "sim/world/order.hpp"
#include "sim/world/telling.hpp"
#include "sim/world/tidiness.hpp"

namespace quorumlock::sim {

/// Clients, nodes, the network between them and all that may happen to them, drawn from one seed:
/// the same seed gives the same history, event for event.
class World {
 public:
  /// `trace` may be null.
  World(const Draw& draw, std::ostream* trace);

  /// Runs the history and returns the first violation; empty if there was none.
  std::string run();

  struct Figures {
    std::size_t acquired = 0, refused = 0, renewed = 0, ended = 0, faults = 0, commands = 0,
                raised = 0, in_order = 0, by_token = 0, lists_settled = 0, lists_stranded = 0,
                returned = 0;
    /// Operators that stopped for good after a step: on some nodes at least, and not on all that
    /// come after it.
    std::array<std::size_t, step_kinds> died_after{};
  };
  [[nodiscard]] const Figures& figures() const { return figures_; }

 private:
  using Action = Agenda::Action;
  // world.cpp: time and the end
  [[nodiscard]] TrueTime now() const { return agenda_.now(); }
  void at(TrueTime when, Action action) { agenda_.at(when, std::move(action)); }
  void after(TrueTime span, Action action) { agenda_.after(span, std::move(action)); }
  void run_until(TrueTime end) { agenda_.run_until(end); }
  [[nodiscard]] bool goes_on() const { return !agenda_.stopped(); }
  [[nodiscard]] const std::string& violation() const { return history_.violation(); }
  void heal();
  void demand_progress();
  [[nodiscard]] bool too_few_vouch() const;
  static std::string name_of(int node);
  void demand_order();
  void demand_tidiness();
  void report(const std::string& sentence) { history_.report(sentence); }
  template <class... Words>
  void trace(const Words&... words) {
    history_.write(words...);
  }
  TrueTime draw_span(TrueTime about);

  // succession.cpp: what the queue head is owed
  void die(Client& client);
  bool has_lock_by(std::size_t operation, TrueTime end, TrueTime step);
  void demand_succession();
  void demand_turn();

  // leases.cpp: late renewals, extends by token, clients whose clock stands still
  struct Renewed {
    std::string key, token;
    bool end_known;  ///< the client knew the node's time, so the node knows when it is late
  };
  /// The script that these words call; null if they call none.
  static const redis::Script* script_of(const Words& words);
  static std::vector<Renewed> renewals_of(const Words& words, const redis::Script* script);
  TrueTime time_of(int node, const Renewed& one);
  void look_at_renewal(int node, const Renewed& one, TrueTime before);
  void plan_extends();
  void extend_by_token(std::size_t operation);
  void extended_by_token(const core::Extended& extended);
  void usurp(std::size_t operation);
  void make_reader(Operation& lease);
  void stand_still(Client& client, TrueTime span);
  void end_stand_still(Client& client);
  void demand_no_leases(const Client& client);
  void demand_trust();

  // permits.cpp: semaphores
  void demand_permits();
  std::vector<std::size_t> ask_for_permits(int count, core::Duration wait);

  // network.cpp: connections, bytes and their delays
  void turn(Client& client);
  void plan_turn(Client& client);
  /// Runs an action in a process: when it goes on if it is stopped, and never if it is gone.
  template <class Does>
  void for_client(std::size_t number, std::size_t life, Does action) {
    Client& client = clients_[number];
    if (client.life != life) return;
    if (client.paused) {
      client.missed.push_back(std::move(action));
      return;
    }
    action();
    turn(client);
  }
  void open(Client& client, int number);
  void shut(Client& client, int number);
  void write(Client& client, int number, bool rest_is_late);
  void deliver(int node, int connection, std::string bytes);
  void deliver_at(TrueTime when, int node, int connection, std::string bytes);
  void serve(int node);
  /// Whether this client may not touch the keys of the lock "other".
  [[nodiscard]] bool stranger(const Client& client) const {
    return draw_.tenants && client.number % 2 == 0;
  }
  /// The keys of the locks that a vote or a release is about, and the owner for which it is.
  struct Owner {
    std::vector<std::string> keys;
    std::string token;
    bool releases = false;
  };
  static std::vector<Owner> owners_of(const Words& words, const redis::Script* script);
  void look_at_owner(int node, std::size_t client, const Owner& owner);
  void look_at(int node);
  void answer(int node, int connection, std::string bytes);
  void lose(Client& client, int wire_number, bool runs_on);
  void lose_node(Client& client, int node, bool subscriber, bool runs_on);
  void lose_all(int node);
  TrueTime arrival(std::size_t client, int node, bool to_node, TrueTime& last);
  bool is_forgotten(Client& client, int wire_number);

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
  void carry_out(Client& client, const detail::Session::Output& output);
  Operation* of_lease(core::UserId user);
  void over(Operation& one);
  void extended_to(Operation& one, core::Time deadline);

  // faulty.cpp: what goes wrong
  void plan_faults();
  void inject(Fault fault);
  void betray(Client& client, core::NodeSet granted);
  void wander(std::size_t client);
  void has_voted(int node);
  void may_forget(int node, const char* after_what);
  void forget_all();
  void fall_silent(std::size_t client, int node);
  /// The longest that anything may take if a quorum can decide it; see Focus::silence.
  [[nodiscard]] TrueTime promptly() const;
  void prompt(const Operation& one, TrueTime asked, const char* what);
  void soon(const Operation& one);
  TrueTime outlast(Client& client, int node, TrueTime arrival);
  TrueTime hinder(Client& client, int node, TrueTime arrival);
  void crash(int node, TrueTime away);
  void restart(int node);
  void forgets(int node);
  void resume(Client& client);

  // lists.cpp: which list of nodes operators want, and clients have
  [[nodiscard]] std::optional<redis::Membership> governing() const;
  [[nodiscard]] redis::NodeNames first_list() const;
  void plan_lists();
  void hide_nodes(TrueTime until);
  redis::NodeNames next_of_plan();
  redis::NodeNames draw_list();
  void tell_clients(const redis::NodeNames& list);
  void lists_may_differ(std::size_t client);
  void lists_follow(std::size_t client);
  void give_list(std::size_t number, const redis::NodeNames& list);

  // progress.cpp: what is demanded after a change of the list of nodes
  void demand_change_ends();
  redis::NodeNames end_change();
  [[nodiscard]] redis::NodeNames list_on_disk() const;
  [[nodiscard]] bool contradicts(const redis::NodeNames& list) const;
  [[nodiscard]] Look look_at_all(const redis::NodeNames& next) const;
  [[nodiscard]] std::uint64_t floor_of(const Look& look, const std::vector<int>& sources) const;
  static bool is_stranded(const redis::MembersChange& change);
  static bool is_forgotten(const redis::MembersChange& change);
  bool make_next_step(const Look& look, redis::SettlementWait& wait, redis::NodeNames& next);

  // traps.cpp: what a draw arranges so that one mistake does harm
  void move_at_commit(const redis::NodeNames& list);
  void look_at_candidates(Client& client);
  [[nodiscard]] bool is_quiet(const Client& client) const {
    return draw_.moves_at_commit && client.number == 0 && now() < asks_at_;
  }

  // operators.cpp: changes of the list of nodes
  static int server_named(const std::string& name);
  void plan_operators();
  void plan_operator();
  void begin_operator(redis::NodeNames next);
  void end_operator(Operator& one, const char* why);
  void look_at_nodes(std::size_t number);
  static void believe(Operator& one, Look& look);
  void look_again(Operator& one, TrueTime span);
  void has_looked(const Look& look);
  void end_old_connections(const Look& look, const redis::NodeNames& next);
  void list_settled(Operator& one);
  bool is_out_of_reach(std::size_t by, int server, Step step);
  void make(const Look& look, const std::vector<redis::MembersChange::Step>& steps,
            const char* what);
  void send_step(const Look& look, const redis::MembersChange::Step& step, const char* what,
                 TrueTime span);
  void run_for_operator(int node, const Words& words);
  void read_counters(const Look& look, const redis::MembersChange& change);

  // foundings.cpp: what the nodes' records say of their lists
  static std::string text_of(const Server& server, std::string_view key, TrueTime now);
  [[nodiscard]] std::optional<redis::Membership> membership_of(const Server& server) const;
  [[nodiscard]] std::optional<redis::Membership> on_disk(const Server& server) const;
  [[nodiscard]] bool knows_another_list(int node, const redis::Membership& founded) const;
  /// By founding and epoch: the lists that any node has settled.
  using SettledLists = std::map<std::pair<std::uint64_t, std::uint32_t>, redis::NodeNames>;
  [[nodiscard]] bool is_remembered(const SettledLists::value_type& settled) const;
  void look_at_founding(int node);

  // disks.cpp: durable nodes whose memory is another node's, or incomplete
  void stop_writing(int node);
  void copy_directory(int node);
  void promote_replica(int node);
  void fail_back(int node);
  void follow_another(int node);
  void when_noticed(int node, Action action);
  void in_this_run(int node, TrueTime span, Action action);
  void after_a_grant(int node, Action action, int looks = 40);
  void has_other_data(int node);
  std::optional<Server::Data> data_of_another(int node);

  const Draw draw_;
  Agenda agenda_;
  History history_;
  const std::string lock_;  ///< the key of most requests; the semaphore's if the draw has permits
  std::vector<std::pair<std::string, std::string>> counters_;  ///< all locks, with their counters
  test::SeededRandom random_;
  std::deque<Server> nodes_;
  std::deque<Client> clients_;
  std::deque<Operation> operations_;
  std::deque<Operator> operators_;
  /// Whether an operator reaches a node (if not, it is deaf), and until when that holds.
  struct Reach {
    TrueTime until{};
    bool deaf = false;
  };
  std::map<std::pair<bool, int>, Reach>
      reach_;                            ///< by whether it is the second operator, and by node
  std::vector<redis::NodeNames> lists_;  ///< every list that an operator has wanted
  redis::NodeNames settled_, removed_;   ///< the list last settled; nodes that have left one

  struct Path {
    TrueTime blocked_to{}, blocked_from{};  ///< nothing arrives before these
    TrueTime extra{};                       ///< added to the delay of each message
    int percent = 100;                      ///< the path's delay in percent of the draw's
    bool lost = false;                      ///< whether a connection has broken since the beginning
    TrueTime silent_until{};                ///< until when it is silent: see Focus::silence
  };
  std::vector<std::vector<Path>> paths_;  ///< by client and node
  /// The client's end of a node's connection.
  struct Peer {
    std::size_t client, life;
    std::uint64_t epoch;
    int wire;
  };
  std::vector<std::map<int, Peer>> peers_;  ///< by node and connection
  std::vector<std::string> records_;        ///< the enrolment of each node, as last looked at
  std::vector<Server::Data> copies_;        ///< an older copy of each node's data
  struct Extend {
    std::size_t operation;
    std::string key;
    TrueTime asked;
  };
  std::deque<Extend> extends_;  ///< extends by token; index: the user's number less the offset
  TrueTime next_relapse_{};     ///< the earliest moment at which a node may forget a vote
  bool healing_ = false;
  TrueTime asks_at_ = TrueTime::max();                ///< see move_at_commit()
  std::map<std::pair<std::size_t, int>, bool> ripe_;  ///< by client and server
  SettledLists settled_lists_;
  /// What each node's record says, in whichever run of the node it was written.
  std::vector<std::optional<redis::Membership>> on_disk_;
  std::set<std::uint64_t> contested_;  ///< foundings with a node that knew itself of another list
  bool keeps_ = false;                 ///< users hold what they get from now on, and renew it
  Exclusion exclusion_;
  Fencing fencing_;
  Telling telling_;
  Tidiness tidiness_;
  Order order_;
  Figures figures_;
  bool vouched_ = false;  ///< the last operator has vouched for nodes that forgot
};

}  // namespace quorumlock::sim
