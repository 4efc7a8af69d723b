#include <algorithm>
#include <optional>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Operations of another process with an owner token.
class ByToken : public FiveNodes {
 protected:
  // The nodes are durable: one that was killed votes again as soon as it is back.
  static void SetUpTestSuite() { start({.durable = true}); }
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
};

TEST_F(ByToken, AnyProcessWithTheTokenMayReleaseOnce) {
  // Any process that has the token may release the lock, once.
  Lease lease = coordinator.acquire(key).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  lease.detach();
  const OwnerToken token(lease.owner_token());
  EXPECT_TRUE(ok(elsewhere.release(key, token)));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_TRUE(fails_with(elsewhere.release(key, token), Errc::not_held));
}

TEST_F(ByToken, AReleaseByTheWrongTokenReleasesNothing) {
  // Another token releases nothing, and leaves the holder's keys and their expiry alone.
  Lease lease = coordinator.acquire(key, {.auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  EXPECT_TRUE(fails_with(elsewhere.release(key, OwnerToken(std::string(40, 'a'))), Errc::not_held));
  EXPECT_TRUE(fails_with(elsewhere.release(key, OwnerToken("")), Errc::invalid_argument));
  EXPECT_EQ(cluster().holders(key, lease.owner_token()), 5);
  EXPECT_TRUE(ok(lease.extend(10s)));
}

TEST_F(ByToken, AReleaseNeverTouchesForeignKeys) {
  // Foreign values and hashes under the key are not ours by any token.
  for (const int node : {0, 1, 2}) cluster().plant(node, key);
  for (const int node : {3, 4}) cluster().raw(node, {"HSET", key, "f", "v"});
  EXPECT_TRUE(fails_with(elsewhere.release(key, OwnerToken(std::string(40, 'a'))), Errc::not_held));
  EXPECT_EQ(cluster().holders(key), 5);
}

TEST_F(ByToken, AReleasedHolderFindsOutAtItsNextRenewal) {
  // A lease whose keys were released by token finds out at its next renewal.
  Lease lease = coordinator.acquire(key, {.ttl = 1500ms, .wait = 20s}).value();
  const std::stop_token stop = lease.stop_token();
  EXPECT_TRUE(ok(elsewhere.release(key, OwnerToken(lease.owner_token()))));
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  EXPECT_FALSE(lease.release().has_value());
}

TEST_F(ByToken, AnyProcessWithTheTokenMayExtend) {
  // Any process that has the token may extend the lock, and learns its new end.
  Lease lease = coordinator.acquire(key, {.ttl = 3s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  lease.detach();
  const Clock::time_point before = Clock::now();
  const auto until = elsewhere.extend(key, OwnerToken(lease.owner_token()), 20s);
  ASSERT_TRUE(ok(until));
  EXPECT_GE(*until, before + 20s - 202ms);
  EXPECT_LE(*until, Clock::now() + 20s - 202ms);
  EXPECT_TRUE(eventually([&] {
    int extended = 0;
    for (int node = 0; node < 5; ++node) extended += cluster().pttl(node, key) > 10s ? 1 : 0;
    return extended == 5;
  }));
}

TEST_F(ByToken, AnExtendOfALockNotHeldSetsNothing) {
  // If the key is missing or another's, the result is not_held, and nothing is set or extended.
  const OwnerToken token(std::string(40, 'a'));
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 10s), Errc::not_held));
  EXPECT_TRUE(cluster().keys().empty());
  for (int node = 0; node < 5; ++node) cluster().raw(node, {"SET", key, "foreign", "PX", "5000"});
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 20s), Errc::not_held));
  EXPECT_EQ(cluster().holders(key, "foreign"), 5);
  for (int node = 0; node < 5; ++node) EXPECT_LE(cluster().pttl(node, key), 5s);
}

TEST_F(ByToken, AnExtendOnAMinorityIsNotHeld) {
  // The token is on two nodes only: too few, whatever the others hold.
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (const int node : {0, 1, 2}) cluster().raw(node, {"DEL", key});
  const OwnerToken token(lease.owner_token());
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 20s), Errc::not_held));
  for (const int node : {0, 1, 2}) EXPECT_EQ(cluster().value(node, key), std::nullopt);
}

TEST_F(ByToken, AnExtendFailsIfAnotherHeldTheLockInBetween) {
  // On two nodes the key ran out, and another client acquired and released it there; the other
  // nodes refused that client but raised their counters too. A renewal sets the two keys again:
  // after that neither keys nor counters can show that the lock was not the other's.
  const std::string counter = "quorumlock:fence:" + key;
  Lease lease = coordinator.acquire(key, {.ttl = 20s, .auto_extend = false}).value();
  const OwnerToken token(lease.owner_token());
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, token.text()) == 5; }));
  for (const int node : {0, 1}) cluster().raw(node, {"DEL", key});
  cluster().raw_everywhere({"INCR", counter});
  ASSERT_TRUE(ok(lease.extend(20s)));
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, token.text()) == 5; }));
  lease.detach();
  for (const int node : {3, 4}) cluster().raw(node, {"DEL", key});
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 20s), Errc::not_held));
}

TEST_F(ByToken, ATtlAboveTheMaximumIsRefused) {
  // A ttl above the cluster's max_ttl is refused, as it is for a lease.
  Lease lease = coordinator.acquire(key).value();
  const OwnerToken token(lease.owner_token());
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 31s), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 0s), Errc::invalid_argument));
}

TEST_F(ByToken, ExtendAndReleaseFailWithoutAQuorum) {
  // Too few nodes are up for an answer.
  Lease lease = coordinator.acquire(key).value();
  const OwnerToken token(lease.owner_token());
  for (const int node : {0, 1, 2}) cluster().kill(node);
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 10s), Errc::no_quorum));
  EXPECT_TRUE(fails_with(elsewhere.release(key, token), Errc::no_quorum));
}

TEST_F(ByToken, SeveralLocksOfOneTokenAreExtendedAndReleasedAsOne) {
  const std::string other = key + "/other";
  Lease lease = coordinator.acquire_all({key, other}, {.ttl = 3s, .auto_extend = false}).value();
  const OwnerToken token = lease.owner_token();
  lease.detach();
  const auto until = elsewhere.extend({key, other}, token, 20s);
  ASSERT_TRUE(ok(until));
  EXPECT_GT(*until - Clock::now(), 15s);
  for (const std::string& each : {key, other}) {
    EXPECT_TRUE(eventually([&] { return cluster().holders(each, token) == 5; }));
  }
  // All or none: a third lock that this token does not hold.
  EXPECT_TRUE(
      fails_with(elsewhere.extend({key, other, key + "/third"}, token, 20s), Errc::not_held));
  EXPECT_TRUE(fails_with(elsewhere.extend({key, key}, token, 20s), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(elsewhere.release(Resources(), token), Errc::invalid_argument));
  EXPECT_TRUE(ok(elsewhere.release({key, other}, token)));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_TRUE(fails_with(elsewhere.release({key, other}, token), Errc::not_held));
}

TEST_F(ByToken, AReleaseWorksAfterManyExtends) {
  // After ten extends by token in a row a release still works, and a later extend is not_held.
  Lease lease = coordinator.acquire(key, {.ttl = 20s}).value();
  const OwnerToken token(lease.owner_token());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(ok(elsewhere.extend(key, token, 20s)));
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 20s), Errc::not_held));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

class ByTokenInspect : public FiveNodes {};

TEST_F(ByTokenInspect, ReportsTheHolder) {
  // Inspection reports node by node: the holder's token and time left, another's value, no key, a
  // dead node.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  cluster().plant(0, key);
  Lease lease = coordinator.acquire(key, {.ttl = 20s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  Result<Inspection> seen = elsewhere.inspect(key);
  ASSERT_TRUE(ok(seen));
  EXPECT_EQ(seen->resource, key);
  EXPECT_EQ(seen->quorum, 3);
  EXPECT_EQ(seen->holder, lease.owner_token());
  EXPECT_EQ(seen->count(Vote::held), 5);
  EXPECT_EQ(seen->nodes.at(0).token, "");
  EXPECT_EQ(seen->nodes.at(0).detail, "another program's value (a string of 7 bytes)");
  EXPECT_EQ(seen->nodes.at(1).token, lease.owner_token());
  ASSERT_TRUE(seen->nodes.at(1).expires_in.has_value());
  EXPECT_LE(*seen->nodes.at(1).expires_in, 20s);
  EXPECT_GT(*seen->nodes.at(1).expires_in, 1s);
}

TEST_F(ByTokenInspect, ReportsKeysThatAreNotLocks) {
  // A hash, a value without expiry, an empty key and a dead node are not holders; each is reported
  // by name.
  cluster().raw(0, {"HSET", key, "f", "v"});
  cluster().raw(1, {"SET", key, "for ever"});
  cluster().kill(4);
  Coordinator coordinator = connect();
  Result<Inspection> seen = coordinator.inspect(key);
  ASSERT_TRUE(ok(seen));
  EXPECT_EQ(seen->holder, "");
  EXPECT_EQ(seen->nodes.at(0).vote, Vote::held);
  EXPECT_EQ(seen->nodes.at(1).vote, Vote::held);
  EXPECT_EQ(seen->nodes.at(1).detail, "another program's value (a string of 8 bytes)");
  EXPECT_FALSE(seen->nodes.at(1).expires_in.has_value());
  EXPECT_EQ(seen->nodes.at(2).vote, Vote::absent);
  EXPECT_EQ(seen->nodes.at(4).vote, Vote::unreachable);
}

TEST_F(ByTokenInspect, ReportsTheReaders) {
  // Two readers share the lock, and a writer of a third process waits.
  Coordinator one = connect();
  Coordinator other = connect();
  Coordinator elsewhere = connect();
  const Result<Lease> first = one.acquire(key, {.mode = LockMode::shared});
  const Result<Lease> second = other.acquire(key, {.mode = LockMode::shared});
  ASSERT_TRUE(ok(first) && ok(second));
  Answer<Result<Lease>> writes;
  std::stop_source stop;
  elsewhere.async_acquire(key, {.wait = forever}, stop.get_token(), writes.handler());
  std::vector<OwnerToken> tokens{first->owner_token(), second->owner_token()};
  std::ranges::sort(tokens);
  std::optional<Inspection> seen;
  ASSERT_TRUE(eventually([&] {
    seen = one.inspect(key).value();
    return seen->readers == tokens && seen->waiters.size() == 1;
  }));
  EXPECT_EQ(seen->mode(), LockMode::shared);
  EXPECT_EQ(seen->holder, "");
  EXPECT_EQ(seen->waiters[0].mode, LockMode::exclusive);
  stop.request_stop();
  EXPECT_TRUE(fails_with(writes.get(), Errc::cancelled));
}

TEST_F(ByTokenInspect, DoesNotWaitLongForASilentNode) {
  // A node that does not answer is reported as silent after node_timeout.
  Options impatient = options();
  impatient.node_timeout = 200ms;
  Coordinator coordinator = test::connect(impatient);
  warm(coordinator);
  cluster().pause(2);
  Result<Inspection> seen = coordinator.inspect(key);
  cluster().resume(2);
  ASSERT_TRUE(ok(seen));
  EXPECT_TRUE(seen->nodes.at(2).vote == Vote::timed_out || seen->nodes.at(2).vote == Vote::stalled)
      << to_string(seen->nodes.at(2).vote);
}

}  // namespace
}  // namespace quorumlock::test
