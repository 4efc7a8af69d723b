#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "integration/several.hpp"

// Several locks read as one, on real servers (docs/architecture.md).
namespace quorumlock::test {
namespace {

class SharedAll : public Several {
 protected:
  static LockOptions reading(LockOptions options = {}) {
    options.mode = LockMode::shared;
    return options;
  }
  /// Returns on how many nodes this owner reads the resource.
  static int readers(const std::string& resource, const std::string& token) {
    int count = 0;
    for (int node = 0; node < 5; ++node) {
      const Reply score = cluster().raw(node, {"ZSCORE", "quorumlock:readers:" + resource, token});
      if (score.type == Reply::Type::string) ++count;
    }
    return count;
  }
  static bool nothing_left() {
    return eventually([] { return cluster().keys().empty(); });
  }
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
};

TEST_F(SharedAll, ReadersOfSetsThatOverlapHoldTogether) {
  // Each set has its own token under every key, next to readers of single locks; no writer gets in.
  Result<Lease> one = coordinator.acquire_all({a, b}, reading());
  Result<Lease> other = elsewhere.acquire_all({c, b}, reading());
  Result<Lease> single = elsewhere.acquire(a, reading());
  ASSERT_TRUE(ok(one));
  ASSERT_TRUE(ok(other));
  ASSERT_TRUE(ok(single));
  for (const std::string& each : {a, b}) {
    EXPECT_TRUE(eventually([&] { return readers(each, one->owner_token()) == 5; }));
    EXPECT_EQ(coordinator.inspect(each).value().mode(), LockMode::shared);
  }
  EXPECT_EQ((std::set<std::uint64_t>{one->fencing_token(), other->fencing_token(),
                                     single->fencing_token()})
                .size(),
            3U);
  EXPECT_TRUE(fails_with(elsewhere.acquire(b), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.acquire_all({key, a}), Errc::contended));
  EXPECT_TRUE(ok(one->extend(20s)));
  EXPECT_TRUE(ok(one->release()));
  EXPECT_TRUE(fails_with(coordinator.acquire(b), Errc::contended));
  EXPECT_TRUE(ok(other->release()));
  EXPECT_TRUE(ok(single->release()));
  EXPECT_TRUE(nothing_left());
  // A later writer of one of them has a greater token than all its readers.
  const Result<Lease> writer = coordinator.acquire(b, {.wait = 20s});
  ASSERT_TRUE(ok(writer));
  EXPECT_GT(writer->fencing_token(), std::max(one->fencing_token(), other->fencing_token()));
}

TEST_F(SharedAll, GetsAllOfThemOrNone) {
  // Another client holds one lock as a writer, or a foreign value is under one key: no key is read.
  Result<Lease> writer = elsewhere.acquire(b);
  ASSERT_TRUE(ok(writer));
  // A quorum is enough for the holder, and the other nodes hear of it a moment later.
  ASSERT_TRUE(eventually([&] { return cluster().holders(b) == 5; }));
  EXPECT_TRUE(fails_with(coordinator.acquire_all({a, b, c}, reading()), Errc::contended));
  EXPECT_EQ(cluster().holders(a) + cluster().holders(c), 0);
  ASSERT_TRUE(ok(writer->release()));
  ASSERT_TRUE(eventually([&] { return cluster().holders(b) == 0; }));
  for (const int node : {0, 1, 2}) cluster().raw(node, {"HSET", b, "field", "value"});
  EXPECT_TRUE(fails_with(coordinator.acquire_all({a, b}, reading({.wait = 1s})), Errc::timed_out));
  EXPECT_TRUE(eventually([&] { return cluster().holders(a) == 0; }));
  EXPECT_EQ(cluster().raw(2, {"HGET", b, "field"}).text, "value");
}

TEST_F(SharedAll, NeitherSideStarves) {
  // Readers of a set hold; a writer of one of its locks waits; a later reader of a set with that
  // lock waits after the writer, and then gets in.
  Result<Lease> first = coordinator.acquire_all({a, b}, reading());
  ASSERT_TRUE(ok(first));
  Answer<Result<Lease>> writing;
  elsewhere.async_acquire(b, {.wait = forever}, {}, writing.handler());
  see_waiters(b, 1);
  EXPECT_TRUE(fails_with(coordinator.acquire_all({b, c}, reading()), Errc::contended));
  Answer<Result<Lease>> later;
  coordinator.async_acquire_all({c, b}, reading({.wait = forever}), {}, later.handler());
  see_waiters(b, 2);
  see_waiters(c, 1);
  EXPECT_EQ(writing.calls() + later.calls(), 0);
  ASSERT_TRUE(ok(first->release()));
  Result<Lease> writer = writing.get();
  ASSERT_TRUE(ok(writer));
  EXPECT_EQ(later.calls(), 0);
  ASSERT_TRUE(ok(writer->release()));
  EXPECT_TRUE(ok(later.get()));
}

TEST_F(SharedAll, AReaderThatLeavesTheLineBlocksNobody) {
  // The reader waits for a writer of one lock, and a writer of the other lock waits after the
  // reader.
  Result<Lease> writer = elsewhere.acquire(a);
  ASSERT_TRUE(ok(writer));
  std::stop_source stop;
  Answer<Result<Lease>> reader;
  coordinator.async_acquire_all({a, b}, reading({.wait = forever}), stop.get_token(),
                                reader.handler());
  see_waiters(b, 1);
  Answer<Result<Lease>> next;
  elsewhere.async_acquire(b, {.wait = forever}, {}, next.handler());
  see_waiters(b, 2);
  stop.request_stop();
  EXPECT_TRUE(fails_with(reader.get(), Errc::cancelled));
  EXPECT_TRUE(ok(next.get()));
  for (const std::string& each : {a, b}) see_waiters(each, 0);
}

TEST_F(SharedAll, ADowngradeLetsReadersInAndNoWriter) {
  // A writer of a set becomes its reader: every key on every node is a reader's, a waiting reader
  // of one lock gets in, and a writer does not.
  Result<Lease> lease = coordinator.acquire_all({a, b}, {.wait = 1s});
  ASSERT_TRUE(ok(lease));
  const std::uint64_t fence = lease->fencing_token();
  Answer<Result<Lease>> waiting;
  elsewhere.async_acquire_all({b, c}, reading({.wait = forever}), {}, waiting.handler());
  see_waiters(c, 1);
  ASSERT_TRUE(ok(lease->downgrade()));
  EXPECT_EQ(lease->fencing_token(), fence);
  Result<Lease> reader = waiting.get();
  ASSERT_TRUE(ok(reader));
  EXPECT_GT(reader->fencing_token(), fence);
  for (const std::string& each : {a, b}) {
    EXPECT_TRUE(eventually([&] { return readers(each, lease->owner_token()) == 5; }));
    EXPECT_TRUE(fails_with(elsewhere.acquire(each), Errc::contended));
  }
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(fails_with(elsewhere.acquire(b), Errc::contended));
  EXPECT_TRUE(ok(reader->release()));
  EXPECT_TRUE(nothing_left());
}

TEST_F(SharedAll, HealsKeysThatAMinorityHasLost) {
  // The reader's token is set again next to other readers. By token it is not extended.
  Result<Lease> lease = coordinator.acquire_all({a, b}, reading({.ttl = 2s}));
  ASSERT_TRUE(ok(lease));
  const OwnerToken token(lease->owner_token());
  ASSERT_TRUE(eventually([&] { return readers(b, lease->owner_token()) == 5; }));
  for (const int node : {1, 4}) cluster().raw(node, {"DEL", b});
  Result<Lease> other = elsewhere.acquire(b, reading());
  ASSERT_TRUE(ok(other));
  EXPECT_TRUE(eventually([&] { return readers(b, lease->owner_token()) == 5; }));
  cluster().raw(2, {"ZREM", "quorumlock:readers:" + b, lease->owner_token()});
  EXPECT_TRUE(eventually([&] { return readers(b, lease->owner_token()) == 5; }));
  EXPECT_TRUE(fails_with(elsewhere.extend(b, token, 5s), Errc::not_held));
  EXPECT_TRUE(lease->is_valid());
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(ok(other->release()));
  EXPECT_TRUE(nothing_left());
}

TEST_F(SharedAll, IsLostIfOneOfThemIsLost) {
  // One lock is released by token, which the renewals find out; the rest is released.
  Result<Lease> lease = coordinator.acquire_all({a, b}, reading({.ttl = 2s}));
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(ok(elsewhere.release(b, OwnerToken(lease->owner_token()))));
  EXPECT_TRUE(eventually([&] { return !lease->is_valid(); }));
  EXPECT_TRUE(nothing_left());
}

TEST_F(SharedAll, WorksWithoutFencingAndUnordered) {
  // No counter is written; a later look finds the locks free.
  Options plain = options();
  plain.fencing = false;
  Coordinator unfenced = test::connect(plain);
  Result<Lease> lease = unfenced.acquire_all({a, b}, reading());
  ASSERT_TRUE(ok(lease));
  EXPECT_EQ(lease->fencing_token(), 0U);
  EXPECT_TRUE(fails_with(unfenced.acquire(b), Errc::contended));
  EXPECT_TRUE(ok(unfenced.acquire_all({b, c}, reading({.wait = 1s}))));
  ASSERT_TRUE(ok(lease->release()));
  Result<Lease> writer = unfenced.acquire(b, {.wait = 20s});
  ASSERT_TRUE(ok(writer));
  Answer<Result<Lease>> answer;
  unfenced.async_acquire_all({a, b}, reading({.wait = forever}), {}, answer.handler());
  EXPECT_TRUE(ok(writer->release()));
  EXPECT_TRUE(ok(answer.get()));
}

}  // namespace
}  // namespace quorumlock::test
