#include <vector>

#include "integration/fixture.hpp"

// An entry leaves the line with its lease, however the lease ends (docs/architecture.md).
namespace quorumlock::test {
namespace {

class LineEnd : public FiveNodes {
 protected:
  const std::string line = "quorumlock:queue:" + key;
  const std::vector<std::string> keys = {key, key + "/other"};
  Coordinator holder = connect();
  Coordinator other = connect();

  void see_a_waiter() const {
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", line}).integer != 1) return false;
      }
      return true;
    }));
  }
  /// Returns a lease whose acquisition has waited in the line.
  Lease waited(LockOptions how, bool for_all = false) {
    how.wait = forever;
    Lease first = other.acquire(key).value();
    Answer<Result<Lease>> answer;
    if (for_all) {
      holder.async_acquire_all(keys, how, {}, answer.handler());
    } else {
      holder.async_acquire(key, how, {}, answer.handler());
    }
    see_a_waiter();
    EXPECT_TRUE(ok(first.release()));
    return answer.get().value();
  }
  /// Simulates the death of the lease's process: the keys run out, and nothing more is sent.
  void dies(Lease lease) {
    lease.detach();
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"EXISTS", key}).integer != 0) return false;
      }
      return true;
    }));
  }
  static LockOptions brief() { return {.ttl = 500ms, .auto_extend = false}; }
};

TEST_F(LineEnd, AReleaseByTokenTakesTheEntryOut) {
  // Another process releases the lease: its entry neither blocks the next acquire nor shows as a
  // waiter.
  const Lease lease = waited({});
  EXPECT_TRUE(other.inspect(key).value().waiters.empty());
  EXPECT_TRUE(ok(other.release(key, OwnerToken(lease.owner_token()))));
  EXPECT_TRUE(other.inspect(key).value().waiters.empty());
  EXPECT_TRUE(ok(other.acquire(key)));
}

TEST_F(LineEnd, ADeadHoldersEntryBlocksNobodyOnceItsKeyIsGone) {
  // The entry would last for 3 s, but the key lasts for half a second.
  dies(waited(brief()));
  EXPECT_TRUE(ok(other.acquire(key)));
}

TEST_F(LineEnd, ADeadHoldersEntriesInSeveralLinesBlockNobody) {
  // Each line is as free as its lock.
  dies(waited(brief(), true));
  EXPECT_TRUE(ok(other.acquire_all(keys)));
}

TEST_F(LineEnd, ADeadReadersEntryBlocksNobody) {
  // A writer is refused while the reader holds the lock, and no longer.
  LockOptions reads = brief();
  reads.mode = LockMode::shared;
  dies(waited(reads));
  EXPECT_TRUE(ok(other.acquire(key)));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  dies(waited(brief()));
  reads.wait = 0ms;
  EXPECT_TRUE(ok(other.acquire(key, reads)));
}

TEST_F(LineEnd, TheNextWaiterIsWokenByAReleaseByToken) {
  // The next waiter does not have to look for itself. It also looks now and then, which may come
  // first once, but not every time.
  Coordinator third = connect();
  for (int round = 0; round < 5 && other.stats().won_after.message == 0; ++round) {
    const Lease lease = waited({});
    Answer<Result<Lease>> next;
    other.async_acquire(key, {.wait = forever}, {}, next.handler());
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", line}).integer != 2) return false;
      }
      return true;
    }));
    // What the nodes said of its place has arrived before this is answered.
    ASSERT_TRUE(other.inspect(key));
    EXPECT_TRUE(ok(third.release(key, OwnerToken(lease.owner_token()))));
    EXPECT_TRUE(ok(next.get()));
  }
  EXPECT_GT(other.stats().won_after.message, 0U);
}

}  // namespace
}  // namespace quorumlock::test
