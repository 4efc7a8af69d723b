#include <sstream>

#include "support/engine_driver.hpp"
#include "support/orders.hpp"

// Enumerates every order of the answers to one round of a lease or of a token.
namespace quorumlock::test {
namespace {

enum RoundFate { agrees, declines, says_nothing };

/// One round that is out, whose nodes answer one after the other.
struct Round {
  EngineDriver driver;
  int nodes;
  int granted = 0, refused = 0, open;

  explicit Round(int size, int number)
      : driver(size, static_cast<std::uint64_t>(number)), nodes(size), open(size) {}

  void meet(int node, int fate, Vote refusal) {
    --open;
    driver.now += 1ms;
    if (fate == agrees) {
      ++granted;
      driver.reply(node, Vote::granted);
    } else if (fate == declines) {
      ++refused;
      driver.reply(node, refusal);
    } else {
      driver.time_out(node);
    }
  }
  /// Returns true if no quorum can hold the key, since enough nodes report that their key is not
  /// ours.
  [[nodiscard]] bool gone() const { return 2 * (nodes - refused) <= nodes; }
};

/// Runs `play(round, fates, order)` for one to five nodes in every order; returns their number.
template <class F>
int play_all(F&& play) {
  int orders = 0;
  for (int nodes = 1; nodes <= 5; ++nodes) {
    orders += for_each_order(nodes, 3, [&](const auto& fates, const auto& order) {
      Round round(nodes, orders);
      play(round, fates, order);
      if (!testing::Test::HasFailure()) return true;
      std::ostringstream text;
      constexpr std::string_view names[] = {"grants", "refuses", "silent"};
      for (const int node : order) {
        text << " n" << node + 1 << " " << names[fates[static_cast<std::size_t>(node)]];
      }
      ADD_FAILURE() << "in:" << text.str();
      return false;
    });
    if (testing::Test::HasFailure()) break;
  }
  return orders;
}

constexpr int all_orders = 3 * 1 + 9 * 2 + 27 * 6 + 81 * 24 + 243 * 120;

TEST(EngineRoundOrders, ARenewalIsDecidedInEveryOrder) {
  // In every order of its votes a renewal is won with the q-th grant, and the lease is lost with
  // the vote that leaves no quorum to hold it; otherwise the old end stands and it is tried again.
  const int orders = play_all([](Round& round, const auto& fates, const auto& order) {
    EngineDriver& driver = round.driver;
    const core::ClaimId lease = driver.hold({.ttl = 10s, .stop_margin = 1s});
    driver.pass_until(at(3300ms));
    ASSERT_EQ(driver.count(CommandKind::renew), static_cast<std::size_t>(round.nodes));
    const core::Time start = driver.seen().back().when;
    for (const int node : order) {
      const int fate = fates[static_cast<std::size_t>(node)];
      if (driver.count<core::Ended>() == 0) {
        round.meet(node, fate, node % 2 == 0 ? Vote::absent : Vote::held);
      }
      const bool renewed = 2 * round.granted > round.nodes;
      ASSERT_EQ(driver.count<core::Renewed>(), renewed ? 1U : 0U);
      ASSERT_EQ(driver.count<core::Ended>(), round.gone() ? 1U : 0U);
      if (round.gone()) {
        ASSERT_EQ(driver.only<core::Ended>().why, Errc::lost);
        continue;
      }
      const core::Claim* claim = driver.engine().claim(lease);
      ASSERT_EQ(claim->deadline, renewed ? start + 9898ms : at(9898ms));
      // An undecided renewal waits for votes; a failed one is tried again soon.
      const bool failed = 2 * (round.granted + round.open) <= round.nodes;
      ASSERT_EQ(claim->next_try < driver.now + 80ms, failed);
    }
    driver.release(lease);
    driver.answer_all();
    driver.expect_nothing_left();
  });
  EXPECT_EQ(orders, all_orders);
}

TEST(EngineRoundOrders, AReleaseIsDecidedInEveryOrder) {
  // The votes of a release come in every order: it succeeds at once with the q-th deletion.
  // Otherwise it ends when all nodes have answered or are late: with too few answers, with no key
  // of ours anywhere, as lost before, or as done on the nodes that could be reached.
  const int orders = play_all([](Round& round, const auto& fates, const auto& order) {
    EngineDriver& driver = round.driver;
    const core::ClaimId lease = driver.hold({.ttl = 10s, .stop_margin = 1s});
    driver.release(lease);
    for (const int node : order) {
      round.meet(node, fates[static_cast<std::size_t>(node)], Vote::absent);
      const bool deleted = 2 * round.granted > round.nodes;
      const std::vector<core::Released> released = driver.all<core::Released>();
      ASSERT_EQ(released.size(), deleted || round.open == 0 ? 1U : 0U);
      if (released.empty() || round.open > 0) continue;
      std::optional<Errc> why;
      if (deleted) {
        why = std::nullopt;
      } else if (2 * (round.granted + round.refused) <= round.nodes) {
        why = Errc::no_quorum;
      } else if (round.granted == 0) {
        why = Errc::not_held;
      } else if (round.gone()) {
        why = Errc::lost;
      }
      ASSERT_EQ(released[0].why, why);
      ASSERT_EQ(released[0].user, EngineDriver::lease_of(1));
      ASSERT_FALSE(released[0].by_token);
    }
    driver.answer_all();
    driver.expect_nothing_left();
  });
  EXPECT_EQ(orders, all_orders);
}

TEST(EngineRoundOrders, AnExtendByTokenIsDecidedInEveryOrder) {
  // An extend of somebody's token is decided exactly when its result is certain.
  const int orders = play_all([](Round& round, const auto& fates, const auto& order) {
    EngineDriver& driver = round.driver;
    driver.extend_token(7, "theirs", 10s);
    for (const int node : order) {
      round.meet(node, fates[static_cast<std::size_t>(node)], Vote::absent);
      const End end = certain_end(round.nodes, round.granted, round.refused, round.open);
      const std::vector<core::Extended> extended = driver.all<core::Extended>();
      ASSERT_EQ(extended.size(), end == End::undecided ? 0U : 1U);
      if (extended.empty()) continue;
      std::optional<Errc> why;
      if (end == End::contended) why = Errc::not_held;
      if (end == End::no_quorum) why = Errc::no_quorum;
      ASSERT_EQ(extended[0].why, why);
      ASSERT_EQ(extended[0].valid_until, at(9898ms));
      ASSERT_EQ(extended[0].user, 7U);
      ASSERT_TRUE(extended[0].by_token);
    }
    driver.answer_all();
    driver.expect_nothing_left();
  });
  EXPECT_EQ(orders, all_orders);
}

}  // namespace
}  // namespace quorumlock::test
