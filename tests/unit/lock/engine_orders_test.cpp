#include "support/orders.hpp"

#include <array>
#include <sstream>

#include "support/engine_driver.hpp"

// Enumerates every order of the answers to one attempt.
namespace quorumlock::test {
namespace {

/// The fate of a node that an attempt asks.
enum Fate { grants, refuses, silent, breaks, away };

/// One attempt whose nodes meet their fates one after the other.
class Play {
 public:
  Play(const std::vector<int>& fates, const std::vector<int>& order, int number)
      : fates_(fates),
        order_(order),
        nodes_(static_cast<int>(fates.size())),
        // These are the silent nodes' late answers, long after the verdict.
        late_(std::array{Vote::granted, Vote::held,
                         Vote::disconnected}[static_cast<std::size_t>(number % 3)]),
        driver_(nodes_, static_cast<std::uint64_t>(number)),
        votes_(fates.size(), Vote::pending),
        releases_due_(fates.size(), 0) {}

  void run() {
    driver_.now = at(1s);
    ASSERT_NO_FATAL_FAILURE(begin());
    for (const int node : order_) {
      if (fates_[static_cast<std::size_t>(node)] == away) continue;
      driver_.now += 1ms;
      ASSERT_NO_FATAL_FAILURE(meet(node));
      ASSERT_NO_FATAL_FAILURE(check());
    }
    ASSERT_NO_FATAL_FAILURE(late_answers());
    ASSERT_NO_FATAL_FAILURE(finish());
  }

  [[nodiscard]] std::string describe() const {
    constexpr std::string_view names[] = {"granted", "held", "silent", "broken", "away"};
    std::ostringstream text;
    for (const int node : order_) {
      text << " n" << node + 1 << " " << names[fates_[static_cast<std::size_t>(node)]];
    }
    text << "; the silent: " << to_string(late_);
    return text.str();
  }

 private:
  void begin() {
    for (int node = 0; node < nodes_; ++node) {
      if (fates_[static_cast<std::size_t>(node)] != away) {
        asked_.add(node);
        continue;
      }
      driver_.link(node, LinkState::down);
      votes_[static_cast<std::size_t>(node)] = Vote::unreachable;
    }
    driver_.acquire(1, {.ttl = 10s, .auto_extend = false});
    open_ = asked_.size();
    if (open_ == 0) return check();
    // All commands go out at once, before any answer.
    ASSERT_EQ(driver_.tokens().size(), 1U);
    ASSERT_EQ(driver_.told(CommandKind::set, token()), asked_);
    check();
  }

  void meet(int node) {
    --open_;
    Vote vote = Vote::pending;
    const bool was_lost = lost_;
    switch (fates_[static_cast<std::size_t>(node)]) {
      case grants:
        ++granted_;
        driver_.reply(node, vote = Vote::granted);
        if (was_lost) ++releases_due_[static_cast<std::size_t>(node)];
        break;
      case refuses:
        ++held_;
        driver_.reply(node, vote = Vote::held);
        break;
      case silent:
        driver_.time_out(node);
        vote = Vote::timed_out;
        break;
      case breaks:
        gone_.add(node);
        driver_.lose(node);
        vote = Vote::disconnected;
        break;
      default: FAIL();
    }
    votes_[static_cast<std::size_t>(node)] = vote;
  }

  void check() {
    // The verdict comes exactly when it is certain.
    const End end = certain_end(nodes_, granted_, held_, open_);
    ASSERT_EQ(driver_.count<core::Acquired>(), end == End::won ? 1U : 0U);
    const std::vector<core::Refused> refused = driver_.all<core::Refused>();
    ASSERT_EQ(refused.size(), end == End::contended || end == End::no_quorum ? 1U : 0U);
    if (!refused.empty()) {
      ASSERT_EQ(refused[0].why, end == End::contended ? Errc::contended : Errc::no_quorum);
      ASSERT_EQ(refused[0].attempts, 1);
      if (!std::exchange(told_why_, true)) check_votes(refused[0].tally);
    }
    // The clean-up starts as soon as the attempt is lost, on all nodes that can be reached. Only if
    // every node that was asked has refused by then is there nothing to delete.
    if (!lost_ && 2 * (granted_ + open_) <= nodes_) {
      lost_ = true;
      const bool nothing_to_delete = held_ == asked_.size();
      for (const int node : nothing_to_delete ? core::NodeSet() : asked_ - gone_) {
        ++releases_due_[static_cast<std::size_t>(node)];
      }
    }
    check_releases();
  }

  void check_votes(const core::Tally& tally) {
    for (int node = 0; node < nodes_; ++node) {
      ASSERT_EQ(tally.vote(node), votes_[static_cast<std::size_t>(node)]) << "n" << node + 1;
    }
  }

  void check_releases() {
    std::vector<int> sent(fates_.size(), 0);
    for (const Sent& what : driver_.all<Sent>()) {
      ASSERT_EQ(what.command.token, token());
      if (what.command.tag.kind != CommandKind::release) continue;
      for (const int node : what.to) ++sent[static_cast<std::size_t>(node)];
    }
    ASSERT_EQ(sent, releases_due_);
  }

  void late_answers() {
    for (const int node : asked_) {
      if (fates_[static_cast<std::size_t>(node)] != silent) continue;
      driver_.now += 1ms;
      driver_.reply(node, late_);
      // A late grant is given back after a loss; after a win it belongs to the holder.
      if (lost_ && late_ == Vote::granted) ++releases_due_[static_cast<std::size_t>(node)];
      check_releases();
    }
  }

  void finish() {
    if (driver_.count<core::Acquired>() == 1) {
      ASSERT_EQ(driver_.lease_end(), at(1s + 9898ms));
      ASSERT_EQ(driver_.count(CommandKind::release), 0U);
      ASSERT_TRUE(driver_.release(driver_.lease()));
      for (const int node : core::NodeSet::first(nodes_) - gone_) {
        // Nodes that were away are not asked here, since they never come back.
        if (asked_.contains(node)) ++releases_due_[static_cast<std::size_t>(node)];
      }
      ASSERT_NO_FATAL_FAILURE(check_releases());
    }
    // A node whose connection broke with our SET under way gets the release when it is back.
    for (const int node : gone_) {
      driver_.link(node, LinkState::up);
      ++releases_due_[static_cast<std::size_t>(node)];
    }
    ASSERT_NO_FATAL_FAILURE(check_releases());
    driver_.answer_all();
    ASSERT_EQ(driver_.count<core::Acquired>() + driver_.count<core::Refused>(), 1U);
    driver_.expect_nothing_left();
    if (testing::Test::HasFailure()) FAIL();
  }

  [[nodiscard]] std::string token() const { return driver_.tokens()[0]; }

  const std::vector<int>& fates_;
  const std::vector<int>& order_;
  int nodes_;
  Vote late_;
  EngineDriver driver_;
  core::NodeSet asked_, gone_;
  int granted_ = 0, held_ = 0, open_ = 0;
  bool lost_ = false;
  bool told_why_ = false;
  std::vector<Vote> votes_;
  std::vector<int> releases_due_;
};

int play_all(int nodes, int kinds) {
  int number = 0;
  return for_each_order(nodes, kinds, [&](const auto& fates, const auto& order) {
    Play play(fates, order, number++);
    play.run();
    if (!testing::Test::HasFailure()) return true;
    ADD_FAILURE() << "in:" << play.describe();
    return false;
  });
}

TEST(EngineOrders, EveryOrderOfGrantsRefusalsAndSilenceIsDecidedOnceCertain) {
  // One to five nodes grant, refuse or stay silent, in every order. The verdict comes once it is
  // certain. After a loss all get a release, another after a late grant; after a win none does.
  int orders = 0;
  for (int nodes = 1; nodes <= 5; ++nodes) orders += play_all(nodes, 3);
  EXPECT_EQ(orders, 3 * 1 + 9 * 2 + 27 * 6 + 81 * 24 + 243 * 120);
}

TEST(EngineOrders, EveryOrderWithNodesThatBreakOrAreAwayIsDecidedOnceCertain) {
  // These are the same orders with nodes whose connection breaks before the answer, and nodes that
  // are away from the start: the latter are not asked, the former get their release when they are
  // back.
  int orders = 0;
  for (int nodes = 1; nodes <= 4; ++nodes) orders += play_all(nodes, 5);
  EXPECT_EQ(orders, 5 * 1 + 25 * 2 + 125 * 6 + 625 * 24);
}

}  // namespace
}  // namespace quorumlock::test
