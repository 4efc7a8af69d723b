#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// A model of one node that is made a replica of an older copy of its own data, and promoted again
// in the same run, with all interleavings of what two clients do meanwhile. The node forgets leases
// that it has granted: none of its votes may count until they have ended. The votes of the other
// nodes are left out, as if a client always had every vote that it needs except this one.
//
// Time goes in ticks. A lease lasts for `ttl` of them, and so does a quarantine.
namespace quorumlock::model {
namespace {

using Byte = std::uint8_t;
constexpr Byte ttl = 2;
constexpr std::size_t clients = 2;

/// What the node has. A record or a candidate names the run and the last promotion that the node
/// reported to the client that wrote it: zero, if there was none.
struct Data {
  Byte record;     ///< one more than the promotion that it names; zero if there is no record
  Byte candidate;  ///< the same
  Byte nonce;      ///< the candidate's
  Byte holder;     ///< one more than the client that has the lock; zero if nobody has
  Byte left;       ///< what is left of its lease
};

enum Step : Byte { away, waits, claims, votes };

struct Client {
  Byte step;
  Byte knows;      ///< the promotion that the node reported to it
  Byte record;     ///< the one that its commands carry, if the node votes for it
  Byte candidate;  ///< the candidate that it waits with, as in Data
  Byte nonce;
  Byte left;    ///< what is left of its wait
  Byte stayed;  ///< connected since before the promotion, and has not asked about it since
};

/// The bytes are compared, so there must be no padding.
struct State {
  Data data, copy;
  Byte copies;      ///< how many copies were made
  Byte replica;     ///< the node is a replica now
  Byte promotions;  ///< how many promotions there were
  Byte reports;     ///< the last promotion, until Redis forgets it
  Byte seen;        ///< a client has connected since the last promotion
  Byte forgotten;   ///< what is left of the longest lease that the node has forgotten
  std::array<Client, clients> client;

  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(this), sizeof *this};
  }
};
static_assert(sizeof(State) == 2 * sizeof(Data) + 6 + clients * sizeof(Client));

/// What is left out of the protocol, or added to the world.
enum class Change {
  none,
  by_hand,            ///< nobody disconnects the clients, as a Sentinel does
  name_of_run_only,   ///< the last promotion is not part of a run's name
  record_stays,       ///< a client that connects does not remove a record of another name
  claims_unasked,     ///< a client does not ask about promotions at the end of its wait
  candidate_kept,     ///< a candidate of another name is not overwritten
  no_nonce,           ///< two candidates of one name are the same
  half_a_quarantine,  ///< a tick too short
  forgotten_unseen,   ///< Redis forgets the promotion before a client has connected
};

class Model {
 public:
  explicit Model(Change change, bool by_hand = false)
      : change_(change), by_hand_(by_hand || change == Change::by_hand) {
    State first{};
    first.data.record = 1;
    add(first);
    for (std::size_t at = 0; at < states_.size() && wrong_.empty(); ++at) {
      from_ = at;
      step(State(states_[at]));
    }
  }

  /// Two holders that the promises do not allow; empty if there are none.
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  /// Two holders that docs/promises.md lists as not covered.
  [[nodiscard]] bool slips_through() const { return slips_; }
  [[nodiscard]] std::size_t states() const { return states_.size(); }

  /// Whether the node can vote for all clients again, wherever the faults end. A replica has to be
  /// promoted for that.
  [[nodiscard]] bool always_recovers() const {
    std::vector<std::vector<std::size_t>> before(states_.size());
    for (const auto& [from, to] : healing_) before[to].push_back(from);
    std::vector<std::size_t> good;
    std::vector<bool> recovers(states_.size());
    for (std::size_t at = 0; at < states_.size(); ++at) {
      const State& s = states_[at];
      const bool all = std::ranges::all_of(s.client, [&s](const Client& one) {
        return one.step == votes && one.record == s.data.record;
      });
      if (s.replica != 0 || !all) continue;
      recovers[at] = true;
      good.push_back(at);
    }
    while (!good.empty()) {
      const std::size_t at = good.back();
      good.pop_back();
      for (const std::size_t one : before[at]) {
        if (!recovers[one]) good.push_back(one);
        recovers[one] = true;
      }
    }
    return std::ranges::all_of(recovers, [](bool one) { return one; });
  }

 private:
  enum class Kind { fault, healing };

  void add(State s, Kind kind = Kind::fault) {
    rename_nonces(s);
    const auto [found, is_new] = numbers_.emplace(s.bytes(), states_.size());
    if (is_new) states_.push_back(s);
    if (kind == Kind::healing) healing_.emplace_back(from_, found->second);
  }

  /// Only which nonces are equal matters.
  void rename_nonces(State& s) const {
    if (change_ == Change::no_nonce) return;
    std::array<Byte, 16> names{};
    Byte last = 0;
    const auto rename = [&](Byte& nonce) {
      if (nonce == 0) return;
      if (names[nonce] == 0) names[nonce] = ++last;
      nonce = names[nonce];
    };
    rename(s.data.nonce);
    rename(s.copy.nonce);
    for (Client& one : s.client) rename(one.nonce);
  }

  void step(const State& s) {
    tick(s);
    fail(s);
    for (std::size_t number = 0; number < clients; ++number) {
      const Client& one = s.client[number];
      if (one.step == away) connect(s, number);
      if (one.step == waits) look(s, number);
      if (one.step == claims) enrol(s, number);
      if (one.step == votes) ask_for_the_lock(s, number);
      if (one.step == away) continue;
      State lost = s;
      leave(lost.client[number]);
      add(lost);
    }
  }

  void tick(State s) {
    const auto pass = [](Byte& left) { left = left > 0 ? static_cast<Byte>(left - 1) : left; };
    for (Data* const data : {&s.data, &s.copy}) {
      pass(data->left);
      if (data->left == 0) data->holder = 0;
    }
    pass(s.forgotten);
    for (Client& one : s.client) pass(one.left);
    add(s, Kind::healing);
  }

  void fail(const State& s) {
    if (s.replica == 0 && s.copies < 2) {
      State copied = s;
      copied.copy = s.data;
      ++copied.copies;
      add(copied);
    }
    if (s.replica == 0 && s.copies > 0 && s.promotions < 2) {
      State follows = s;
      follows.replica = 1;
      follows.data = s.copy;
      const bool same = s.copy.holder == s.data.holder && s.copy.left == s.data.left;
      if (!same) follows.forgotten = std::max(s.forgotten, s.data.left);
      all_leave(follows);
      add(follows);
    }
    if (s.replica != 0) {
      State promoted = s;
      promoted.replica = promoted.seen = 0;
      promoted.reports = ++promoted.promotions;
      for (Client& one : promoted.client) one.stayed = one.step != away ? 1 : 0;
      all_leave(promoted);
      add(promoted, Kind::healing);
    }
    const bool seen = s.seen != 0 || change_ == Change::forgotten_unseen;
    if (s.reports != 0 && seen) {  // after its repl-backlog-ttl, however short that is
      State forgets = s;
      forgets.reports = 0;
      add(forgets);
    }
  }

  static void leave(Client& one) { one.step = one.knows = one.record = one.stayed = 0; }
  void all_leave(State& s) const {
    if (by_hand_) return;
    for (Client& one : s.client) leave(one);
  }

  /// See redis::is_this_run().
  static bool is_this_run(Byte record, Byte reported) {
    return record == reported + 1 || (reported == 0 && record > 1);
  }

  void connect(State s, std::size_t number) {
    if (s.replica != 0) return;
    Client& one = s.client[number];
    one.knows = change_ == Change::name_of_run_only ? Byte{0} : s.reports;
    s.seen = 1;
    if (s.data.record != 0 && is_this_run(s.data.record, one.knows)) {
      one.record = s.data.record;
      one.step = votes;
      return add(s, Kind::healing);
    }
    one.step = waits;
    if (s.data.record != 0 && change_ != Change::record_stays) {
      s.data.record = 0;
      propose(s, one);
    }
    look(s, number);
  }

  void propose(State& s, const Client& one) const {
    s.data.candidate = one.knows + 1;
    s.data.nonce = change_ == Change::no_nonce ? 1 : 15;
  }

  /// Puts the client's candidate on the node, or looks at the one that stands there.
  void look(State s, std::size_t number) {
    Client& one = s.client[number];
    if (s.data.record != 0 && is_this_run(s.data.record, one.knows)) {
      one.record = s.data.record;
      one.step = votes;
      return add(s, Kind::healing);
    }
    if (s.replica != 0) return;  // refuses writes
    if (s.data.candidate != one.knows + 1) {
      if (s.data.candidate != 0 && change_ == Change::candidate_kept) return;
      propose(s, one);
    }
    if (one.nonce != s.data.nonce || one.candidate != s.data.candidate) {
      const bool replaced = one.nonce != 0;
      one.candidate = s.data.candidate;
      one.nonce = s.data.nonce;
      one.left = change_ == Change::half_a_quarantine ? ttl - 1 : ttl;
      if (replaced) ask(s, one);
    } else if (one.left == 0) {
      one.step = claims;
      if (change_ != Change::claims_unasked) ask(s, one);
      one.stayed = 0;
    }
    add(s, Kind::healing);
  }

  /// The client asks the node for its facts, and disconnects if it is a replica or was one since.
  void ask(const State& s, Client& one) const {
    if (change_ == Change::name_of_run_only) return;
    if (s.replica != 0 || (s.reports != 0 && s.reports != one.knows)) return leave(one);
    one.knows = s.reports;
  }

  void enrol(State s, std::size_t number) {
    if (s.replica != 0) return;
    Client& one = s.client[number];
    const bool stands = s.data.nonce == one.nonce && s.data.candidate == one.candidate;
    one.step = stands ? votes : waits;
    if (stands) {
      one.record = s.data.record = one.knows + 1;
      one.candidate = one.nonce = one.left = s.data.candidate = s.data.nonce = 0;
    }
    add(s, Kind::healing);
  }

  void ask_for_the_lock(State s, std::size_t number) {
    Client& one = s.client[number];
    if (s.replica != 0) {  // it refuses the write; a batch may hide that
      ask(s, one);
      return add(s, Kind::healing);
    }
    if (s.data.record != one.record) {
      const bool valid = s.data.record != 0 && is_this_run(s.data.record, one.knows);
      one.record = valid ? s.data.record : Byte{0};
      one.step = valid ? votes : waits;
      return add(s, Kind::healing);
    }
    if (s.data.holder != 0) return;
    if (s.forgotten != 0) {
      const bool documented = by_hand_ && one.stayed != 0 && s.seen == 0;
      slips_ = true;
      if (!documented) wrong_ = "client " + std::to_string(number + 1) + " is the second holder";
      return;
    }
    s.data.holder = static_cast<Byte>(number + 1);
    s.data.left = ttl;
    add(s);
  }

  const Change change_;
  const bool by_hand_;
  std::vector<State> states_;
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::pair<std::size_t, std::size_t>> healing_;
  std::size_t from_ = 0;
  std::string wrong_;
  bool slips_ = false;
};

TEST(FailBack, NothingSlipsThroughIfTheClientsAreDisconnected) {
  const Model model(Change::none);
  EXPECT_EQ(model.wrong(), "");
  EXPECT_FALSE(model.slips_through());
  EXPECT_TRUE(model.always_recovers());
  RecordProperty("states", std::to_string(model.states()));
}

TEST(FailBack, ByHandItSlipsThroughForClientsThatStayUntilAnotherConnects) {
  const Model model(Change::by_hand);
  EXPECT_EQ(model.wrong(), "");
  EXPECT_TRUE(model.slips_through());
  EXPECT_TRUE(model.always_recovers());
}

TEST(FailBack, EachPartOfTheRuleIsNeeded) {
  EXPECT_NE(Model(Change::name_of_run_only).wrong(), "");
  EXPECT_NE(Model(Change::record_stays).wrong(), "");
  EXPECT_NE(Model(Change::claims_unasked, true).wrong(), "");
  EXPECT_FALSE(Model(Change::candidate_kept).always_recovers());
  EXPECT_NE(Model(Change::no_nonce).wrong(), "");
  EXPECT_NE(Model(Change::half_a_quarantine).wrong(), "");
  EXPECT_NE(Model(Change::forgotten_unseen).wrong(), "");
}

}  // namespace
}  // namespace quorumlock::model
