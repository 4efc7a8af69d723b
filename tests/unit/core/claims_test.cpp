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
class OneClaim : public ::testing::Test {
 protected:
  void SetUp() override {
    Claim& claim = claims[id];
    claim.phase = Phase::held;
    claim.won = claim.told = claim.detached = true;
    claim.user = 7;
    claim.terms = {.ttl = 10s, .stop_margin = 1s, .max_hold = 1h, .max_renewals = 3};
    claim.longest_ttl = 10s;
    claim.deadline = Time(5s);
    claim.next_try = Time(3s);
    claim.keys_die = Time(11s);
    claim.hold_limit = Time(1h);
    claim.fence = 42;
    claim.may_hold = NodeSet::first(3);
    claim.standing = NodeSet::first(2);
    claim.renewals = 2;
    claim.round = 65535;
  }
  Claims claims{3};
  ClaimId id = claims.take("orders:42", token);
};

TEST_F(OneClaim, IsTheSameAfterItWasFolded) {
  claims.fold(id);
  EXPECT_EQ(claims.open(), 0U);
  const Claim* claim = claims.find(id);
  ASSERT_NE(claim, nullptr);
  EXPECT_EQ(claims.open(), 1U);
  EXPECT_EQ(claim->key(), "orders:42");
  EXPECT_EQ(claim->token(), token);
  EXPECT_EQ(claim->phase, Phase::held);
  EXPECT_TRUE(claim->won && claim->told && claim->detached);
  EXPECT_FALSE(claim->goes_on || claim->ordered || claim->round_open || claim->asked_for);
  EXPECT_EQ(claim->user, 7U);
  EXPECT_EQ(claim->terms,
            (Terms{.ttl = 10s, .stop_margin = 1s, .max_hold = 1h, .max_renewals = 3}));
  EXPECT_EQ(claim->longest_ttl, 10s);
  EXPECT_EQ(claim->deadline, Time(5s));
  EXPECT_EQ(claim->next_try, Time(3s));
  EXPECT_EQ(claim->keys_die, Time(11s));
  EXPECT_EQ(claim->hold_limit, Time(1h));
  EXPECT_EQ(claim->fence, 42U);
  EXPECT_EQ(claim->may_hold, NodeSet::first(3));
  EXPECT_EQ(claim->standing, NodeSet::first(2));
  EXPECT_EQ(claim->renewals, 2);
  EXPECT_EQ(claim->round, 65535);
  EXPECT_EQ(claim->tally.nodes(), 3);
}

TEST_F(OneClaim, IsNotFoldedIfFoldingWouldForgetSomething) {
  // Each of these changes is one that folding would forget.
  const std::vector<std::function<void(Claim&)>> changes = {
      [](Claim& claim) { claim.phase = Phase::releasing; },
      [](Claim& claim) { claim.user = 0; },
      [](Claim& claim) { claim.round_open = true; },
      [](Claim& claim) { claim.asked_for = true; },
      [](Claim& claim) { claim.unanswered = 1; },
      [](Claim& claim) { claim.by_token = true; },
      [](Claim& claim) { claim.others = std::make_shared<const std::vector<std::string>>(); },
      [](Claim& claim) { claim.capacity = 2; },
      [](Claim& claim) { claim.place = 1; },
      [](Claim& claim) { claim.not_woken = 1; },
      [](Claim& claim) {
        claim.ballot = SlotId{0, 0};
      },
      [](Claim& claim) {
        claim.waiter = WaiterId{0, 0};
      },
      [](Claim& claim) { claim.longest_ttl = 11s; },
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

TEST_F(OneClaim, AnIdNamesNothingOnceItIsGivenBack) {
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
  Claims claims(3);
  const auto hold = [&claims](int ttl_ms) {
    const ClaimId id = claims.take("key", token);
    Claim& claim = claims[id];
    claim.phase = Phase::held;
    claim.user = 7;
    claim.terms.ttl = claim.longest_ttl = std::chrono::milliseconds(ttl_ms);
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
  Claims claims(5);
  std::vector<ClaimId> ids;
  for (int i = 0; i < 200; ++i) {
    ids.push_back(claims.take("key" + std::to_string(i), token));
    Claim& claim = claims[ids.back()];
    claim.phase = Phase::held;
    claim.user = 1;
    claim.standing = NodeSet::only(i % 5);
    if (i % 2 == 0) claims.fold(ids.back());
  }
  std::set<std::uint32_t> open, folded, all;
  claims.for_each_open([&](ClaimId id) { EXPECT_TRUE(open.insert(id.index).second); });
  claims.for_each_folded([&](ClaimId id, NodeSet& standing) {
    EXPECT_TRUE(folded.insert(id.index).second);
    EXPECT_EQ(standing, NodeSet::only(static_cast<int>(id.index) % 5));
    standing = NodeSet();
  });
  claims.for_each([&](ClaimId id) { EXPECT_TRUE(all.insert(id.index).second); });
  EXPECT_EQ(open.size(), 100U);
  EXPECT_EQ(folded.size(), 100U);
  EXPECT_EQ(all.size(), 200U);
  for (const std::uint32_t index : folded) EXPECT_TRUE(claims[claims.at(index)].standing.empty());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_EQ(claims[ids[i]].key(), "key" + std::to_string(i));
}

TEST(Claims, SharedNamesDoNotChange) {
  // A lease keeps the names of a claim that is gone while other claims come and go, until reuse().
  Claims claims(3);
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
