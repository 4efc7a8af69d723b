#include <array>
#include <memory>
#include <sstream>

#include "support/engine_driver.hpp"
#include "support/fence_node.hpp"

// Every order of the grants and raises of one acquisition, and random orders of several: no fencing
// token is ever given twice.
namespace quorumlock::test {
namespace {

/// Enumerates choices: each run makes the next combination of them, until all were made.
class Choices {
 public:
  std::size_t pick(std::size_t options) {
    if (at_ == made_.size()) made_.push_back({0, options});
    return made_[at_++].first;
  }
  bool next() {
    at_ = 0;
    while (!made_.empty() && made_.back().first + 1 == made_.back().second) made_.pop_back();
    if (made_.empty()) return false;
    ++made_.back().first;
    return true;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> made_;
  std::size_t at_ = 0;
};

/// One acquisition on three nodes, compared with a second version of the rules that counts from
/// scratch after each answer.
class FencePlay {
 public:
  FencePlay(std::array<std::uint64_t, 3> counters, int held_at)
      : driver_(EngineDriver::fencing(3)) {
    for (std::size_t i = 0; i < 3; ++i) nodes_[i] = FenceNode(counters[i]);
    if (held_at < 3) nodes_[static_cast<std::size_t>(held_at)].taken();
  }

  void run(Choices& choices) {
    driver_.acquire(1, {.ttl = 10s, .auto_extend = false});
    while (driver_.count<core::Acquired>() + driver_.count<core::Refused>() == 0) {
      ASSERT_LT(++steps_, 30) << "it raises for ever";
      step(choices);
      ASSERT_NO_FATAL_FAILURE(check());
    }
    if (driver_.count<core::Acquired>() > 0) {
      token = driver_.engine().claim(driver_.lease())->fencing.number;
      driver_.release(driver_.lease());
    }
    for (std::size_t node = 0; node < 3; ++node) {
      while (!driver_.unanswered(static_cast<int>(node)).empty()) answer(node);
    }
    driver_.expect_nothing_left();
    for (const FenceNode& node : nodes_) ASSERT_NE(node.owner(), driver_.tokens()[0]);
  }

  std::uint64_t token = 0;
  std::string story;

 private:
  /// A node's latest answers about its vote.
  struct Heard {
    bool answered = false;  ///< the node has answered the acquisition
    bool granted = false;
    std::uint64_t vote = 0;
    int raises_out = 0;
    std::uint64_t counter = 0;  ///< the counter that the node reported when it refused a raise
  };

  /// One of the nodes that owe an answer gives it. Up to twice in each play, the node loses our key
  /// before its answer.
  void step(Choices& choices) {
    std::vector<std::size_t> able;
    for (std::size_t node = 0; node < 3; ++node) {
      if (!driver_.unanswered(static_cast<int>(node)).empty()) able.push_back(node);
    }
    ASSERT_FALSE(able.empty()) << "undecided, and nothing is asked";
    const bool may_lose = lost_ < 2;
    const std::size_t choice = choices.pick(may_lose ? 2 * able.size() : able.size());
    const std::size_t node = able[choice % able.size()];
    if (choice >= able.size()) {
      ++lost_;
      story += " n" + std::to_string(node + 1) + " is taken by another;";
      nodes_[node].taken();
    }
    answer(node);
  }

  void answer(std::size_t node) {
    const Command command = driver_.unanswered(static_cast<int>(node)).front();
    const core::Answer answer = nodes_[node].execute(command);
    std::ostringstream text;
    text << " n" << node + 1 << " " << to_text(command.tag.kind) << " " << to_string(answer.vote)
         << ":" << answer.fence << ";";
    story += text.str();
    Heard& heard = heard_[node];
    greatest_ = std::max(greatest_, answer.fence);
    if (command.tag.kind == CommandKind::acquire) {
      heard.answered = true;
      heard.granted = answer.vote == Vote::granted;
      heard.vote = answer.fence;
    } else if (command.tag.kind == CommandKind::raise) {
      --heard.raises_out;
      if (answer.vote == Vote::granted) heard.vote = answer.fence;
      if (answer.vote == Vote::held) {
        greatest_ = std::max(greatest_, answer.fence + 1);
        heard.counter = answer.fence;
      }
      if (answer.vote == Vote::absent) heard.granted = false;
    }
    driver_.reply(static_cast<int>(node), answer);
  }

  void check() {
    const std::vector<Sent> sent = driver_.all<Sent>();
    int granted = 0;
    int open = 0;
    int idle = 0;
    std::map<std::uint64_t, int> votes;
    for (const Heard& heard : heard_) {
      if (!heard.answered) ++open;
      if (!heard.granted) continue;
      ++granted;
      ++votes[heard.vote];
      if (heard.raises_out == 0) ++idle;
    }
    bool won = false;
    for (const auto& [number, count] : votes) {
      won = won || (count >= 2 && (target_ == 0 || number == target_));
    }
    ASSERT_EQ(driver_.count<core::Acquired>(), won ? 1U : 0U);
    ASSERT_EQ(driver_.count<core::Refused>(), granted + open < 2 ? 1U : 0U);
    // The target grows when a quorum of the granting nodes has answered every command. All nodes
    // with a smaller number are raised to the target, each after it has answered.
    if (granted >= 2 && !won && (target_ == 0 || idle >= 2)) target_ = greatest_;
    core::NodeSet differ;
    for (int node = 0; node < 3; ++node) {
      const Heard& heard = heard_[static_cast<std::size_t>(node)];
      const bool able = heard.vote < target_ && heard.counter < target_;
      if (heard.granted && heard.raises_out == 0 && able) differ.add(node);
    }
    const bool raises = granted >= 2 && !won && !differ.empty();
    std::vector<Sent> raised;
    for (std::size_t i = sent_; i < sent.size(); ++i) {
      if (sent[i].command.tag.kind == CommandKind::raise) raised.push_back(sent[i]);
    }
    sent_ = sent.size();
    ASSERT_EQ(raised.size(), raises ? 1U : 0U);
    if (!raises) return;
    ASSERT_EQ(raised[0].command.fence, target_);
    ASSERT_EQ(raised[0].to, differ);
    for (const int node : differ) ++heard_[static_cast<std::size_t>(node)].raises_out;
  }

  EngineDriver driver_;
  std::array<FenceNode, 3> nodes_;
  std::array<Heard, 3> heard_;
  std::uint64_t greatest_ = 0;
  std::uint64_t target_ = 0;
  std::size_t sent_ = 1;  ///< the first is the acquisition itself
  int steps_ = 0;
  int lost_ = 0;
};

TEST(EngineFenceOrders, AreDecidedAsByCountingFromScratch) {
  // Three nodes have every combination of small counters; another client may hold one of them, and
  // up to two may lose the key on the way. They answer in every possible order. After each answer
  // the engine has decided, raised or waited as counting from scratch says.
  int plays = 0;
  int won = 0;
  for (int mix = 0; mix < 27 * 4; ++mix) {
    const auto digit = [mix](int place) { return static_cast<std::uint64_t>(mix / place % 3); };
    Choices choices;
    do {
      FencePlay play({digit(1), digit(3), digit(9)}, mix / 27);
      ASSERT_NO_FATAL_FAILURE(play.run(choices)) << play.story;
      ASSERT_FALSE(HasFailure()) << play.story;
      ++plays;
      if (play.token != 0) ++won;
    } while (choices.next());
  }
  EXPECT_GT(plays, 5000);
  EXPECT_GT(won, plays / 4);
}

/// Clients that all want one lock, on nodes whose keys expire at any moment: the promises of
/// fencing do not depend on any clock.
class FenceWorld {
 public:
  explicit FenceWorld(std::uint64_t seed) : random_(seed) {
    const int nodes = random_.one_in(2) ? 3 : 5;
    nodes_.resize(static_cast<std::size_t>(nodes));
    for (auto i = static_cast<std::uint64_t>(random_.between(2, 4)); i > 0; --i) {
      clients_.push_back(
          std::make_unique<EngineDriver>(EngineDriver::fencing(nodes), seed * 10 + i));
      begun_.push_back(0);
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) step();
  }
  [[nodiscard]] std::size_t tokens() const { return tokens_.size(); }
  [[nodiscard]] std::size_t raises() const { return raises_; }

 private:
  void step() {
    const std::size_t which = random_.index(clients_.size());
    EngineDriver& client = *clients_[which];
    if (random_.one_in(15)) return nodes_[random_.index(nodes_.size())].expire();
    if (!client.engine().busy()) {
      begun_[which] = tokens_.empty() ? 0 : *tokens_.rbegin();
      return static_cast<void>(client.acquire(1, {.ttl = 10s, .auto_extend = false}));
    }
    const std::size_t node = random_.index(nodes_.size());
    const auto& commands = client.unanswered(static_cast<int>(node));
    if (commands.empty()) return;
    const Command command = commands.front();
    if (command.tag.kind != CommandKind::release && !command.late && random_.one_in(20)) {
      client.time_out(static_cast<int>(node));
    } else {
      client.reply(static_cast<int>(node), nodes_[node].execute(command));
    }
    look_at(which);
  }

  void look_at(std::size_t which) {
    EngineDriver& client = *clients_[which];
    raises_ += client.count(CommandKind::raise);
    if (client.count<core::Acquired>() > 0) {
      const std::uint64_t token = client.engine().claim(client.lease())->fencing.number;
      ASSERT_GT(token, begun_[which]) << "smaller than one decided before it began";
      ASSERT_TRUE(tokens_.insert(token).second) << "twice: " << token;
      client.release(client.lease());
    }
    client.forget_seen();
  }

  SeededRandom random_;
  std::vector<FenceNode> nodes_;
  std::vector<std::unique_ptr<EngineDriver>> clients_;
  std::vector<std::uint64_t> begun_;  ///< the greatest token when the client's acquisition began
  std::set<std::uint64_t> tokens_;
  std::size_t raises_ = 0;
};

TEST(EngineFenceOrders, TokensAreUniqueAndGrow) {
  // A few clients get their answers in random orders, some of them late, and keys expire under
  // their holders: no token is given twice, and none is smaller than one that was decided before
  // its acquisition began.
  std::size_t tokens = 0;
  std::size_t raises = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    FenceWorld world(seed);
    world.run(2000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    tokens += world.tokens();
    raises += world.raises();
  }
  EXPECT_GT(tokens, 1000U);
  EXPECT_GT(raises, 1000U);
}

}  // namespace
}  // namespace quorumlock::test
