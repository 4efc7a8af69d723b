#include "lock/claims.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quorumlock::core {
namespace {

const std::string token(40, 'a');

TEST(Claims, AnIdNamesNothingOnceItsClaimIsGivenBack) {
  // A late answer has the id of a claim whose place another one has taken.
  Claims claims;
  const ClaimId id = claims.take("orders:42", token);
  ASSERT_NE(claims.find(id), nullptr);
  claims.give_back(id);
  EXPECT_EQ(claims.find(id), nullptr);
  const ClaimId next = claims.take("stock:7", token);
  EXPECT_EQ(next.index, id.index);
  EXPECT_EQ(claims.find(id), nullptr);
  EXPECT_EQ(claims[next].key(), "stock:7");
}

TEST(Claims, AreNewWhenTheyAreTaken) {
  // Nothing is left of the claim that had the place before.
  Claims claims;
  const ClaimId first = claims.take("orders:42", token);
  Claim& claim = claims[first];
  claim.phase = Phase::releasing;
  claim.held.user = 7;
  claim.held.won = claim.entry.leaves = true;
  claim.footprint.nodes = NodeSet::first(3);
  claim.others = std::make_shared<const std::vector<std::string>>(1, "orders:43");
  claims.give_back(first);
  const ClaimId next = claims.take("stock:7", std::string(40, 'b'));
  ASSERT_EQ(next.index, first.index);
  const Claim& another = claims[next];
  EXPECT_EQ(another.phase, Phase::acquiring);
  EXPECT_EQ(another.held.user, 0U);
  EXPECT_FALSE(another.held.won || another.entry.leaves);
  EXPECT_TRUE(another.footprint.nodes.empty());
  EXPECT_EQ(another.others, nullptr);
  EXPECT_EQ(another.token(), std::string(40, 'b'));
}

TEST(Claims, EachIsVisitedOnce) {
  // Those that were given back are not visited; a visit may give its claim back.
  Claims claims;
  std::vector<ClaimId> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(claims.take("key" + std::to_string(i), token));
  for (std::size_t i = 0; i < ids.size(); i += 2) claims.give_back(ids[i]);
  std::vector<std::string> visited;
  claims.for_each([&](ClaimId id) {
    visited.emplace_back(claims[id].key());
    claims.give_back(id);
  });
  ASSERT_EQ(visited.size(), 100U);
  for (std::size_t i = 0; i < visited.size(); ++i) {
    EXPECT_EQ(visited[i], "key" + std::to_string(2 * i + 1));
  }
  for (const ClaimId id : ids) EXPECT_EQ(claims.find(id), nullptr);
}

TEST(Claims, SharedNamesDoNotChange) {
  // A lease keeps the names of a claim that is gone while other claims come and go, until reuse().
  Claims claims;
  const ClaimId id = claims.take("orders:42", token);
  KeyAndToken lease = claims[id].names;
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
