#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "integration/fixture.hpp"

namespace quorumlock::test {
namespace {

/// Servers that run but refuse. One of them must not matter; with three there is no quorum, and the
/// votes give the reason. Once the servers recover, locking works again.
class ServerErrors : public FiveNodes {
 protected:
  using Act = std::function<void(int node)>;

  void expect_votes(Vote vote, const Act& inflict, const Act& undo) {
    Coordinator coordinator = connect();
    warm(coordinator);
    inflict(0);
    {
      Result<Lease> lease = coordinator.acquire(key);
      EXPECT_TRUE(ok(lease) && ok(lease->release())) << "with one node in trouble";
    }
    // A release is done once a quorum has executed it, and a node in trouble would keep the key.
    EXPECT_TRUE(eventually([&] {
      return std::ranges::none_of(std::array{1, 2, 3, 4},
                                  [&](int node) { return cluster().value(node, key).has_value(); });
    }));
    inflict(1);
    inflict(2);
    EXPECT_TRUE(eventually([&] {
      // If a connection had to break first, the first attempts may report that instead.
      Result<Lease> refused = coordinator.acquire(key);
      if (const auto failed = fails_with(refused, Errc::no_quorum); !failed) {
        ADD_FAILURE() << failed.message();
        return true;
      }
      last_ = refused.error().what();
      return refused.error().outcome().count(vote) == 3;
    })) << last_;
    for (const int node : {0, 1, 2}) undo(node);
    EXPECT_TRUE(ok(coordinator.acquire(key, {.wait = 20s})));
    EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  }
  static void configure(int node, const std::string& name, const std::string& value) {
    const Reply reply = cluster().raw(node, {"CONFIG", "SET", name, value});
    EXPECT_FALSE(reply.is_error()) << reply.text;
  }

  /// Does what an operator does with a node that was a replica by mistake, if no lock is held: if
  /// the node were promoted, its vote would not count for max_ttl.
  static void start_anew(int node) {
    cluster().kill(node);
    cluster().restart(node);
  }

  std::string last_;  ///< the last refusal's sentence
};

TEST_F(ServerErrors, ANodeThatBecomesAReplicaDoesNotVote) {
  // The node refuses the first write, and is known to be a replica from then on.
  expect_votes(
      Vote::not_standalone,
      [](int node) {
        cluster().raw(node, {"REPLICAOF", "127.0.0.1", "1"});
      },
      start_anew);
}

TEST_F(ServerErrors, AReplicaWithoutItsMasterDoesNotVote) {
  // A replica has lost its master and must not answer from stale data.
  expect_votes(
      Vote::loading,
      [](int node) {
        configure(node, "replica-serve-stale-data", "no");
        configure(node, "replica-read-only", "no");
        cluster().raw(node, {"REPLICAOF", "127.0.0.1", "1"});
      },
      start_anew);
}

TEST_F(ServerErrors, ANodeOutOfMemoryDoesNotVote) {
  // A node at its maxmemory refuses new keys.
  expect_votes(
      Vote::refuses_writes, [](int node) { configure(node, "maxmemory", "1"); },
      [](int node) { configure(node, "maxmemory", "0"); });
}

TEST_F(ServerErrors, ANodeWithTooFewReplicasDoesNotVote) {
  // A node requires replicas before it accepts writes, and has none.
  expect_votes(
      Vote::refuses_writes, [](int node) { configure(node, "min-replicas-to-write", "1"); },
      [](int node) { configure(node, "min-replicas-to-write", "0"); });
}

TEST_F(ServerErrors, ANodeThatCannotSaveDoesNotVote) {
  // A node that cannot save its data refuses writes, because of stop-writes-on-bgsave-error.
  const auto obstacle = [](int node) { return cluster().server(node).settings().dir / "dump.rdb"; };
  expect_votes(
      Vote::refuses_writes,
      [&](int node) {
        std::filesystem::create_directory(obstacle(node));
        configure(node, "save", "3600 1");
        cluster().raw(node, {"BGSAVE"});
        EXPECT_TRUE(eventually([&] {
          const std::string info = cluster().raw(node, {"INFO", "persistence"}).text;
          return info.find("rdb_last_bgsave_status:err") != info.npos;
        }));
      },
      [&](int node) {
        configure(node, "save", "");
        std::filesystem::remove(obstacle(node));
      });
}

TEST_F(ServerErrors, ANodeThatBeginsToRequireAPasswordDoesNotVote) {
  // A node begins to require a password that we do not have, and drops us.
  expect_votes(
      Vote::unauthorized,
      [](int node) {
        configure(node, "requirepass", "secret");
        cluster().drop_clients(node);
      },
      [](int node) { configure(node, "requirepass", ""); });
}

TEST_F(ServerErrors, ABusyNodeDoesNotVote) {
  // Another client's endless script blocks a node until it is killed.
  std::vector<std::unique_ptr<Redis>> hogs;
  expect_votes(
      Vote::busy,
      [&](int node) {
        configure(node, "busy-reply-threshold", "1");
        hogs.push_back(
            std::make_unique<Redis>(cluster().plain_urls().at(static_cast<std::size_t>(node))));
        hogs.back()->send({"EVAL", "while true do end", "0"});
        EXPECT_TRUE(
            eventually([&] { return cluster().raw(node, {"PING"}).text.starts_with("BUSY"); }));
      },
      [](int node) {
        cluster().raw(node, {"SCRIPT", "KILL"});
      });
}

TEST_F(ServerErrors, ALoadingNodeDoesNotVote) {
  // Nodes that load their data answer but execute nothing; a waiter gets the lock afterwards.
  Cluster slow({.size = 3,
                .more = {"--enable-debug-command", "yes", "--loading-process-events-interval-bytes",
                         "1024"}});
  Coordinator coordinator = test::connect(slow.options());
  {
    const Result<Lease> first = coordinator.acquire(key);
    ASSERT_TRUE(eventually([&] { return slow.holders(key, first->owner_token()) == 3; }));
  }
  std::vector<std::unique_ptr<Redis>> reloads;
  for (const int node : {0, 1}) {
    slow.raw(node, {"DEBUG", "POPULATE", "3000", "filler", "100"});
    slow.raw(node, {"CONFIG", "SET", "key-load-delay", "10000"});
    reloads.push_back(
        std::make_unique<Redis>(slow.plain_urls().at(static_cast<std::size_t>(node))));
    reloads.back()->send({"DEBUG", "RELOAD"});
    EXPECT_TRUE(eventually([&] {
      return slow.raw(node, {"GET", key}).text.starts_with("LOADING");
    }));
  }
  const Result<Lease> refused = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_EQ(refused.error().outcome().count(Vote::loading), 2);
  Answer<Result<Lease>> answer;
  coordinator.async_acquire(key, {.wait = forever}, {}, answer.handler());
  for (const int node : {0, 1}) slow.raw(node, {"CONFIG", "SET", "key-load-delay", "0"});
  const Result<Lease> lease = answer.get();
  ASSERT_TRUE(ok(lease));
  for (auto& reload : reloads) EXPECT_EQ(reload->read().text, "OK");
}

TEST_F(ServerErrors, OutOfMemoryTakesNoLeaseAway) {
  // Nodes without memory refuse new locks only: leases are renewed and released.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 1500ms, .wait = 20s}).value();
  for (int node = 0; node < 5; ++node) configure(node, "maxmemory", "1");
  EXPECT_TRUE(ok(lease.extend(2s)));
  const Clock::time_point end = lease.valid_until();
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > end; }));
  EXPECT_TRUE(fails_with(coordinator.acquire(key + "/new"), Errc::no_quorum));
  EXPECT_TRUE(ok(lease.release()));
  for (int node = 0; node < 5; ++node) configure(node, "maxmemory", "0");
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(ServerErrors, AReleaseThatWasRefusedIsTriedAgain) {
  // The release is sent again to nodes that refuse to delete, until they do: well within the ttl.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 30s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  for (int node = 0; node < 5; ++node) configure(node, "min-replicas-to-write", "1");
  const Result<void> refused = lease.release();
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_GE(refused.error().outcome().count(Vote::refuses_writes), 3);
  EXPECT_EQ(cluster().holders(key), 5);
  for (int node = 0; node < 5; ++node) configure(node, "min-replicas-to-write", "0");
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 0; }));
}

TEST_F(ServerErrors, FlushedScriptsAreNotNoticed) {
  // SCRIPT FLUSH runs between the calls, and then all the time: extend and release still work.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key).value();
  cluster().raw_everywhere({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(ok(lease.extend(20s)));
  cluster().raw_everywhere({"SCRIPT", "FLUSH"});
  EXPECT_TRUE(ok(lease.release()));
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));

  std::atomic<bool> done{false};
  std::thread flusher([&] {
    std::vector<std::unique_ptr<Redis>> nodes;
    for (const std::string& url : cluster().plain_urls())
      nodes.push_back(std::make_unique<Redis>(url));
    while (!done) {
      for (auto& node : nodes) (*node)({"SCRIPT", "FLUSH"});
    }
  });
  for (int i = 0; i < 50; ++i) {
    Result<Lease> one = coordinator.acquire(key, {.wait = 20s});
    EXPECT_TRUE(ok(one) && ok(one->extend(20s)) && ok(one->release()));
  }
  done = true;
  flusher.join();
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

TEST_F(ServerErrors, DroppedConnectionsCostOnlyVotesNowAndThen) {
  // A node that drops our connection again and again only costs its vote now and then.
  Coordinator coordinator = connect();
  for (int i = 0; i < 50; ++i) {
    cluster().drop_clients(i % 5);
    Result<Lease> lease = coordinator.acquire(key, {.wait = 20s});
    ASSERT_TRUE(ok(lease));
    cluster().drop_clients((i + 2) % 5);
    (void)lease->release();
  }
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
}

}  // namespace
}  // namespace quorumlock::test
