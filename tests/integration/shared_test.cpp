#include <atomic>
#include <set>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"

// LockMode::shared on real servers, by every call that takes it (docs/architecture.md).
namespace quorumlock::test {
namespace {

class Shared : public FiveNodes {
 protected:
  // The nodes are durable: one that was killed votes again as soon as it is back.
  static void SetUpTestSuite() { start({.durable = true}); }
  static constexpr LockOptions to_read{.mode = LockMode::shared};
  static LockOptions reading(LockOptions options) {
    options.mode = LockMode::shared;
    return options;
  }
  /// Returns once `count` waiters are in the line of a quorum.
  void see_waiters(std::size_t count) {
    ASSERT_TRUE(eventually([&] {
      return coordinator.inspect(key).value().waiters.size() == count;
    })) << count
        << " waiters";
  }
  bool nothing_left() {
    return eventually([&] { return cluster().keys().empty(); });
  }
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
};

TEST_F(Shared, ReadersHoldTogetherAndHaveTokensOfTheirOwn) {
  // Each reader has its own owner token and fencing token; a later writer has a greater one.
  std::set<std::string> owners;
  std::set<std::uint64_t> fences;
  {
    std::vector<Lease> leases;
    for (int i = 0; i < 10; ++i) {
      leases.push_back((i % 2 == 0 ? coordinator : elsewhere).acquire(key, to_read).value());
      owners.insert(leases.back().owner_token());
      fences.insert(leases.back().fencing_token());
    }
    EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
    for (const Lease& lease : leases) EXPECT_TRUE(lease.is_valid());
  }
  EXPECT_EQ(owners.size(), 10U);
  EXPECT_EQ(fences.size(), 10U);
  ASSERT_TRUE(nothing_left());
  const Lease writer = coordinator.acquire(key).value();
  EXPECT_GT(writer.fencing_token(), *fences.rbegin());
  EXPECT_TRUE(fails_with(elsewhere.acquire(key, to_read), Errc::contended));
}

TEST_F(Shared, EveryCallLetsReadersIn) {
  // Every call succeeds while one reader holds, even unordered and without fencing.
  const Lease held = coordinator.acquire(key, to_read).value();
  std::atomic<int> won = 0;
  coordinator.async_acquire(key, to_read, {}, [&](Result<Lease> lease) {
    EXPECT_TRUE(ok(lease));
    ++won;
  });
  EXPECT_TRUE(eventually([&] { return won == 1; }));
  EXPECT_EQ(coordinator.with_lock(key, to_read, [](Lease&) { return 5; }).value(), 5);
  EXPECT_TRUE(ok(coordinator.acquire(key, reading({.wait = 1s}))));
  EXPECT_TRUE(ok(coordinator.acquire(key, reading({.wait = 1s, .order = WaitOrder::unordered}))));
  Options options = FiveNodes::options();
  options.fencing = false;
  Coordinator unfenced = test::connect(options);
  const Result<Lease> plain = unfenced.acquire(key, to_read);
  ASSERT_TRUE(ok(plain));
  EXPECT_EQ(plain->fencing_token(), 0U);
  EXPECT_TRUE(fails_with(unfenced.acquire(key), Errc::contended));
}

TEST_F(Shared, ForeignClientsSeeReaders) {
  // SET NX is refused until the last reader is gone; its own value then keeps readers out.
  Lease one = coordinator.acquire(key, to_read).value();
  Lease other = elsewhere.acquire(key, to_read).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  const auto granted = [&] {
    int count = 0;
    for (int node = 0; node < 5; ++node) {
      const Reply reply = cluster().raw(node, {"SET", key, "foreign", "NX", "PX", "30000"});
      count += reply.text == "OK" ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(granted(), 0);
  EXPECT_TRUE(ok(one.release()));
  EXPECT_EQ(granted(), 0);
  EXPECT_TRUE(ok(other.release()));
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
  EXPECT_EQ(granted(), 5);
  EXPECT_TRUE(fails_with(coordinator.acquire(key, to_read), Errc::contended));
}

TEST_F(Shared, AnotherKindOfValueIsNeverTouched) {
  // Another client's sorted set has scores that look like readers that have expired.
  cluster().raw_everywhere({"ZADD", key, "1", "one", "2", "two"});
  EXPECT_TRUE(fails_with(coordinator.acquire(key, to_read), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  EXPECT_TRUE(fails_with(coordinator.acquire(key, {.wait = 1s}), Errc::timed_out));
  for (int node = 0; node < 5; ++node) {
    EXPECT_EQ(cluster().raw(node, {"ZCARD", key}).integer, 2);
    EXPECT_EQ(cluster().pttl(node, key), std::chrono::milliseconds(-1));
  }
}

TEST_F(Shared, AReaderThatDiesDelaysAWriterUntilItsEnd) {
  // The dead reader's entry expires although another reader, with a longer life, came and went.
  Lease dead =
      coordinator.acquire(key, reading({.ttl = 1500ms, .wait = 20s, .auto_extend = false})).value();
  dead.detach();
  Lease longer = elsewhere.acquire(key, reading({.ttl = 30s})).value();
  EXPECT_TRUE(ok(longer.release()));
  EXPECT_TRUE(fails_with(elsewhere.acquire(key), Errc::contended));
  const Clock::time_point end = dead.valid_until();
  const Result<Lease> writer = elsewhere.acquire(key, {.wait = 20s});
  ASSERT_TRUE(ok(writer));
  EXPECT_GE(Clock::now(), end);
  EXPECT_LT(Clock::now(), end + 10s);
}

TEST_F(Shared, AWriterIsNotStarvedByReaders) {
  // Readers come all the time and are never all gone: the writer has its turn after the present
  // readers, and no newer reader gets in before it.
  Lease first = coordinator.acquire(key, to_read).value();
  std::atomic<bool> written = false;
  elsewhere.async_acquire(key, {.wait = forever}, {}, [&](Result<Lease> lease) {
    EXPECT_TRUE(ok(lease));
    written = true;
  });
  see_waiters(1);
  // Newer readers are refused, whether they wait or not.
  EXPECT_TRUE(fails_with(coordinator.acquire(key, to_read), Errc::contended));
  std::atomic<int> readers = 0;
  for (int i = 0; i < 5; ++i) {
    coordinator.async_acquire(key, reading({.wait = forever}), {}, [&](Result<Lease> lease) {
      EXPECT_TRUE(ok(lease));
      EXPECT_TRUE(written);
      ++readers;
    });
  }
  see_waiters(6);
  EXPECT_EQ(readers, 0);
  EXPECT_TRUE(ok(first.release()));
  EXPECT_TRUE(eventually([&] { return readers == 5; }));
}

TEST_F(Shared, ReadersAreWokenTogether) {
  // No reader waits for another: each keeps the lock until all have it.
  Lease writer = coordinator.acquire(key, {.wait = 1s}).value();
  std::mutex mutex;
  std::vector<Lease> leases;
  std::vector<Coordinator> processes;
  for (int i = 0; i < 4; ++i) processes.push_back(connect());
  for (int i = 0; i < 12; ++i) {
    processes[static_cast<std::size_t>(i % 4)].async_acquire(
        key, reading({.wait = forever}), {}, [&](Result<Lease> lease) {
          ASSERT_TRUE(ok(lease));
          const std::lock_guard<std::mutex> one_at_a_time(mutex);
          leases.push_back(std::move(*lease));
        });
  }
  see_waiters(12);
  EXPECT_TRUE(ok(writer.release()));
  EXPECT_TRUE(eventually([&] {
    const std::lock_guard<std::mutex> one_at_a_time(mutex);
    return leases.size() == 12;
  }));
  const std::lock_guard<std::mutex> one_at_a_time(mutex);
  std::set<std::uint64_t> fences;
  for (const Lease& lease : leases) fences.insert(lease.fencing_token());
  EXPECT_EQ(fences.size(), 12U);
  leases.clear();
}

TEST_F(Shared, ADowngradeLetsANewReaderIn) {
  // The lease becomes a reader's on every node, and a new reader gets in next to it.
  Lease lease = coordinator.acquire(key, {.wait = 1s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) == 5; }));
  const std::uint64_t fence = lease.fencing_token();
  ASSERT_TRUE(ok(lease.downgrade()));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_EQ(lease.fencing_token(), fence);
  ASSERT_TRUE(
      eventually([&] { return coordinator.inspect(key).value().mode() == LockMode::shared; }));
  Lease reader = elsewhere.acquire(key, to_read).value();
  EXPECT_GT(reader.fencing_token(), fence);
  EXPECT_TRUE(fails_with(elsewhere.acquire(key), Errc::contended));
  EXPECT_TRUE(ok(lease.extend(20s)));
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(fails_with(lease.downgrade(), Errc::not_held));
  EXPECT_TRUE(fails_with(elsewhere.acquire(key), Errc::contended));
  EXPECT_TRUE(ok(reader.release()));
  EXPECT_TRUE(nothing_left());
  // Downgrading also works on the loop, and is refused if the lease is not renewed.
  std::atomic<bool> done = false;
  Lease another = coordinator.acquire(key).value();
  another.async_downgrade([&](Result<void> result) {
    EXPECT_TRUE(ok(result));
    done = true;
  });
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  another.detach();
  EXPECT_TRUE(fails_with(another.downgrade(), Errc::invalid_argument));
}

TEST_F(Shared, AreRenewedAndHealed) {
  // A node that was away gets the token at a renewal.
  cluster().kill(4);
  Lease lease = coordinator.acquire(key, reading({.ttl = 3s, .wait = 20s})).value();
  cluster().restart(4);
  const auto has_it = [&](int node) {
    return cluster().raw(node, {"ZSCORE", "quorumlock:readers:" + key, lease.owner_token()}).type ==
           Reply::Type::string;
  };
  EXPECT_TRUE(eventually([&] { return has_it(4); }));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(nothing_left());
}

TEST_F(Shared, ALeaseIsReleasedByTokenAndNotExtended) {
  // The entry of a reader does not say under which counter it was granted, so an extend by token
  // could not tell whether a writer has had the lock since.
  Lease lease = coordinator.acquire(key, reading({.ttl = 5s, .auto_extend = false})).value();
  ASSERT_TRUE(
      eventually([&] { return coordinator.inspect(key).value().nodes[4].readers.size() == 1; }));
  const OwnerToken token(lease.owner_token());
  EXPECT_TRUE(fails_with(elsewhere.extend(key, token, 20s), Errc::not_held));
  EXPECT_TRUE(lease.is_valid());
  lease.detach();
  EXPECT_TRUE(fails_with(elsewhere.release(key, OwnerToken("another")), Errc::not_held));
  EXPECT_TRUE(fails_with(elsewhere.release(key, OwnerToken("quorumlock:readers")), Errc::not_held));
  EXPECT_TRUE(ok(elsewhere.release(key, token)));
  EXPECT_TRUE(nothing_left());
  EXPECT_TRUE(fails_with(elsewhere.release(key, token), Errc::not_held));
}

TEST_F(Shared, AReaderReleasedByTokenWakesAWriter) {
  // The reader finds out at its next renewal.
  Lease lease = coordinator.acquire(key, reading({.ttl = 1500ms})).value();
  const std::stop_token stop = lease.stop_token();
  std::atomic<bool> written = false;
  elsewhere.async_acquire(key, {.wait = forever}, {}, [&](Result<Lease> won) {
    EXPECT_TRUE(ok(won));
    written = true;
  });
  see_waiters(1);
  EXPECT_TRUE(ok(elsewhere.release(key, OwnerToken(lease.owner_token()))));
  EXPECT_TRUE(eventually([&] { return written.load(); }));
  EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
}

TEST_F(Shared, InspectionShowsReadersAndWaiters) {
  // Inspection shows the readers on a quorum of nodes, and the waiters with their modes.
  const Lease one = coordinator.acquire(key, to_read).value();
  const Lease other = elsewhere.acquire(key, to_read).value();
  elsewhere.async_acquire(key, {.wait = forever}, {}, [](const Result<Lease>&) {});
  see_waiters(1);
  const Inspection seen = coordinator.inspect(key).value();
  EXPECT_EQ(seen.mode(), LockMode::shared);
  EXPECT_EQ(std::set<std::string>(seen.readers.begin(), seen.readers.end()),
            (std::set<std::string>{one.owner_token(), other.owner_token()}));
  EXPECT_EQ(seen.waiters.at(0).mode, LockMode::exclusive);
  EXPECT_TRUE(seen.holder.empty());
}

}  // namespace
}  // namespace quorumlock::test
