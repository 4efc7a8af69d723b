#include "core/claims.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace quorumlock::core {
namespace {

using namespace std::chrono_literals;

const std::string token(40, 'a');

/// One lease of user 7, with no command under way.
class ClaimsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Claim& claim = claims[id];
    claim.phase = Phase::held;
    claim.held.won = claim.held.told = claim.held.detached = true;
    claim.held.user = 7;
    claim.terms = {.ttl = 10s, .stop_margin = 1s, .max_hold = 1h, .max_renewals = 3};
    claim.footprint.longest_ttl = 10s;
    claim.deadline = Time(5s);
    claim.next_try = Time(3s);
    claim.footprint.gone_at = Time(11s);
    claim.held.limit = Time(1h);
    claim.fencing.number = 42;
    claim.footprint.nodes = NodeSet::first(3);
    claim.held.standing = NodeSet::first(2);
    claim.held.renewals = 2;
    claim.round.resume(65535, nodes);
  }
  NodeSet nodes = NodeSet::first(3);
  Claims claims{nodes};
  ClaimId id = claims.take("orders:42", token);
};

TEST_F(ClaimsTest, IsTheSameAfterItWasFolded) {
  claims.fold(id);
  EXPECT_EQ(claims.open(), 0U);
  const Claim* claim = claims.find(id);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claims.open(), 1U);
  EXPECT_EQ(claim->key(), "orders:42");
  EXPECT_EQ(claim->token(), token);
  EXPECT_EQ(claim->phase, Phase::held);
  EXPECT_TRUE(claim->held.won && claim->held.told && claim->held.detached);
  EXPECT_FALSE(claim->held.goes_on || claim->entry.ordered || claim->round.is_open() ||
               claim->asked_for);
  EXPECT_EQ(claim->held.user, 7U);
  EXPECT_EQ(claim->terms,
            (Terms{.ttl = 10s, .stop_margin = 1s, .max_hold = 1h, .max_renewals = 3}));
  EXPECT_EQ(claim->footprint.longest_ttl, 10s);
  EXPECT_EQ(claim->deadline, Time(5s));
  EXPECT_EQ(claim->next_try, Time(3s));
  EXPECT_EQ(claim->footprint.gone_at, Time(11s));
  EXPECT_EQ(claim->held.limit, Time(1h));
  EXPECT_EQ(claim->fencing.number, 42U);
  EXPECT_EQ(claim->footprint.nodes, NodeSet::first(3));
  EXPECT_EQ(claim->held.standing, NodeSet::first(2));
  EXPECT_EQ(claim->held.renewals, 2);
  EXPECT_EQ(claim->round.number(), 65535);
  EXPECT_EQ(claim->round.tally.nodes().size(), 3);
}

TEST_F(ClaimsTest, IsNotFoldedIfFoldingWouldForgetSomething) {
  // Each of these changes is one that folding would forget.
  const std::vector<std::function<void(Claim&)>> changes = {
      [](Claim& claim) { claim.phase = Phase::releasing; },
      [](Claim& claim) { claim.held.user = 0; },
      [](Claim& claim) {
        claim.round.open(Time(), 10s, NodeSet::first(3), {0, 2});
      },
      [](Claim& claim) { claim.asked_for = true; },
      [](Claim& claim) { claim.footprint.unanswered = 1; },
      [](Claim& claim) { claim.by_token = true; },
      [](Claim& claim) { claim.others = std::make_shared<const std::vector<std::string>>(); },
      [](Claim& claim) { claim.permit.capacity = 2; },
      [](Claim& claim) { claim.entry.place = 1; },
      [](Claim& claim) { claim.entry.not_woken = 1; },
      [](Claim& claim) {
        claim.fencing.ballot = SlotId{0, 0};
      },
      [](Claim& claim) {
        claim.waiter = WaiterId{0, 0};
      },
      [](Claim& claim) { claim.footprint.longest_ttl = 11s; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    SetUp();
    Claim& claim = claims[id];
    const Claim before = claim;
    changes[i](claim);
    claims.fold(id);
    EXPECT_EQ(claims.open(), 1U) << "change " << i;
    claims[id] = before;
  }
  claims.fold(id);
  EXPECT_EQ(claims.open(), 0U);
}

TEST_F(ClaimsTest, AnIdNamesNothingOnceItIsGivenBack) {
  // An id of a folded or open claim names nothing after give_back(), nor does it fold a successor.
  claims.fold(id);
  claims.give_back(id);
  EXPECT_EQ(claims.find(id), nullptr);
  const ClaimId next = claims.take("stock:7", token);
  EXPECT_EQ(next.index, id.index);
  EXPECT_EQ(claims.find(id), nullptr);
  claims.fold(id);
  EXPECT_EQ(claims[next].key(), "stock:7");
  claims.give_back(next);
  EXPECT_EQ(claims.open(), 0U);
}

TEST(Claims, AreFoldedForAsManyDifferentTermsAsAByteCounts) {
  // Up to 256 terms are folded. A lease with any others stays open; known terms are still folded.
  const NodeSet nodes = NodeSet::first(3);
  Claims claims(nodes);
  const auto hold = [&claims](int ttl_ms) {
    const ClaimId id = claims.take("key", token);
    Claim& claim = claims[id];
    claim.phase = Phase::held;
    claim.held.user = 7;
    claim.terms.ttl = claim.footprint.longest_ttl = std::chrono::milliseconds(ttl_ms);
    claims.fold(id);
    return id;
  };
  std::vector<ClaimId> held;
  for (int i = 0; i < 256; ++i) held.push_back(hold(1000 + i));
  EXPECT_EQ(claims.open(), 0U);
  held.push_back(hold(1256));
  EXPECT_EQ(claims.open(), 1U);
  hold(1255);
  EXPECT_EQ(claims.open(), 1U);
  for (int i = 0; i < 257; ++i) {
    EXPECT_EQ(claims[held[static_cast<std::size_t>(i)]].terms.ttl,
              std::chrono::milliseconds(1000 + i));
  }
}

TEST(Claims, EachIsVisitedOnceFoldedOrNot) {
  // With half of the claims folded, both halves are visited, and each claim once.
  const NodeSet nodes = NodeSet::first(5);
  Claims claims(nodes);
  std::vector<ClaimId> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(claims.take("key" + std::to_string(i), token));
    Claim& claim = claims[ids.back()];
    claim.phase = Phase::held;
    claim.held.user = 1;
    claim.held.standing = NodeSet::only(i % 5);
    if (i % 2 == 0) claims.fold(ids.back());
  }
  std::set<std::uint32_t> open, folded, all;
  claims.for_each_open([&](ClaimId id) { EXPECT_TRUE(open.insert(id.index).second); });
  claims.for_each_folded([&](ClaimId id, NodeSet&, NodeSet& standing) {
    EXPECT_TRUE(folded.insert(id.index).second);
    EXPECT_EQ(standing, NodeSet::only(static_cast<int>(id.index) % 5));
    standing = NodeSet();
  });
  claims.for_each([&](ClaimId id) { EXPECT_TRUE(all.insert(id.index).second); });
  EXPECT_EQ(open.size(), 100U);
  EXPECT_EQ(folded.size(), 100U);
  EXPECT_EQ(all.size(), 200U);
  for (const std::uint32_t index : folded)
    EXPECT_TRUE(claims[claims.at(index)].held.standing.empty());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(claims[ids[i]].key(), "key" + std::to_string(i));
}

TEST(Claims, SharedNamesDoNotChange) {
  // A lease keeps the names of a claim that is gone while other claims come and go, until reuse().
  const NodeSet nodes = NodeSet::first(3);
  Claims claims(nodes);
  const ClaimId id = claims.take("orders:42", token);
  Names lease = claims[id].names;
  claims.give_back(id);
  for (int i = 0; i < 3; ++i) claims.give_back(claims.take("another", std::string(40, 'b')));
  EXPECT_EQ(lease.key(), "orders:42");
  EXPECT_EQ(lease.token(), token);
  EXPECT_FALSE(lease.shared());
  const void* const place = lease.key().data();
  claims.reuse(std::move(lease));
  EXPECT_EQ(claims[claims.take("stock:7", token)].key().data(), place);
}

}  // namespace
}  // namespace quorumlock::core
