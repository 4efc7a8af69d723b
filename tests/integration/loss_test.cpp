#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <sstream>

#include "integration/fixture.hpp"
#include "support/process.hpp"

namespace quorumlock::test {
namespace {

/// Records when the stop token of a lease was requested.
class Told {
 public:
  explicit Told(const Lease& lease) : on_stop_(lease.stop_token(), [this] { at_ = now(); }) {}
  [[nodiscard]] bool yet() const { return at_ != 0; }
  [[nodiscard]] Clock::time_point at() const { return Clock::time_point(Clock::duration(at_)); }

 private:
  static Clock::rep now() { return Clock::now().time_since_epoch().count(); }
  std::atomic<Clock::rep> at_{0};
  std::stop_callback<std::function<void()>> on_stop_;
};

class Loss : public FiveNodes {
 protected:
  static Options with_margin(std::chrono::nanoseconds margin) {
    Options options = FiveNodes::options();
    options.stop_margin = margin;
    return options;
  }
};

TEST_F(Loss, IsReportedIfAThirdPartyDeletesTheKeys) {
  // The keys are removed on three nodes: the next renewal finds out, the stop token is requested
  // before the lease's known end, and the keys of the other two are deleted.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 4s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  const Told told(lease);
  Clock::time_point end;
  EXPECT_TRUE(eventually([&] {
    const Clock::time_point until = lease.valid_until();
    if (!told.yet()) end = until;
    // The key is deleted again and again, since a renewal may come between two deletions and set it
    // anew on the first node.
    for (const int node : {0, 2, 4}) cluster().raw(node, {"DEL", key});
    return told.yet();
  }));
  EXPECT_LT(told.at(), end);
  EXPECT_FALSE(lease.is_valid());
  EXPECT_EQ(lease.remaining(), 0s);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_TRUE(fails_with(lease.extend(10s), Errc::lost));
  EXPECT_TRUE(fails_with(lease.release(), Errc::lost));
  EXPECT_FALSE(lease.is_valid());
}

TEST_F(Loss, IsReportedIfAThirdPartyTakesTheKeys) {
  // Three nodes have another client's values: the lease is lost in the same way, and they stay.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 4s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  const Told told(lease);
  const Clock::time_point end = lease.valid_until();
  for (const int node : {1, 2, 3}) cluster().plant(node, key);
  EXPECT_TRUE(eventually([&] { return told.yet(); }));
  EXPECT_LT(told.at(), end);
  EXPECT_FALSE(lease.is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().holders(key) == 3; }));
  EXPECT_EQ(cluster().holders(key, "foreign"), 3);
}

TEST_F(Loss, KeysLostOnAMinorityDoNotMatter) {
  // Keys removed on two nodes change nothing: the other three renew the lease.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 1500ms, .wait = 20s}).value();
  ASSERT_TRUE(eventually([&] { return cluster().holders(key) == 5; }));
  cluster().raw(0, {"DEL", key});
  cluster().raw(1, {"DEL", key});
  const Clock::time_point end = lease.valid_until();
  EXPECT_TRUE(eventually([&] { return lease.valid_until() > end; }));
  EXPECT_TRUE(lease.is_valid());
  EXPECT_FALSE(lease.stop_token().stop_requested());
}

TEST_F(Loss, IsAnnouncedAMarginAheadIfThreeNodesDie) {
  // Without a quorum no renewal succeeds: the stop token is requested stop_margin before the
  // lease's end, which leaves the holder a second to stop.
  Coordinator coordinator = test::connect(with_margin(1s));
  Lease lease = coordinator.acquire(key, {.ttl = 2s}).value();
  const Told told(lease);
  for (const int node : {0, 1, 2}) cluster().kill(node);
  EXPECT_TRUE(eventually([&] { return told.yet(); }));
  const Clock::time_point end = lease.valid_until();
  EXPECT_GE(told.at(), end - 1s);
  EXPECT_LT(told.at(), end);
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  EXPECT_GE(Clock::now(), end);
  EXPECT_EQ(lease.valid_until(), end);
  const Result<void> released = lease.release();
  EXPECT_TRUE(fails_with(released, Errc::lost) || fails_with(released, Errc::expired));
}

TEST_F(Loss, IsAnnouncedAMarginAheadIfThreeNodesFallSilent) {
  // The same holds if nodes are stopped: the deadline is the holder's own, not the network's.
  Coordinator coordinator = test::connect(with_margin(1s));
  Lease lease = coordinator.acquire(key, {.ttl = 2s}).value();
  const Told told(lease);
  for (const int node : {0, 1, 2}) cluster().pause(node);
  EXPECT_TRUE(eventually([&] { return told.yet(); }));
  EXPECT_GE(told.at(), lease.valid_until() - 1s);
  EXPECT_LT(told.at(), lease.valid_until());
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  for (const int node : {0, 1, 2}) cluster().resume(node);
  EXPECT_TRUE(eventually([&] { return cluster().keys().empty(); }));
  EXPECT_FALSE(lease.is_valid());
}

TEST_F(Loss, IsAnnouncedAMarginAheadIfThreeNodesRefuseRenewals) {
  // Nodes that answer every write with an error are as bad as dead ones.
  Coordinator coordinator = test::connect(with_margin(1s));
  Lease lease = coordinator.acquire(key, {.ttl = 2s}).value();
  const Told told(lease);
  for (const int node : {0, 1, 2}) {
    cluster().raw(node, {"CONFIG", "SET", "min-replicas-to-write", "1"});
  }
  EXPECT_TRUE(eventually([&] { return told.yet(); }));
  EXPECT_LT(told.at(), lease.valid_until());
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  for (const int node : {0, 1, 2}) {
    cluster().raw(node, {"CONFIG", "SET", "min-replicas-to-write", "0"});
  }
}

TEST_F(Loss, TheHolderIsNotifiedWhateverTheCause) {
  // A release, a destruction, max_hold and the coordinator's close each request the stop token.
  Coordinator coordinator = test::connect(with_margin(500ms));
  Lease released = coordinator.acquire(key + "/released").value();
  Lease limited = coordinator.acquire(key + "/limited", {.max_hold = 1s}).value();
  Lease closed = coordinator.acquire(key + "/closed").value();
  auto dropped = std::make_unique<Lease>(coordinator.acquire(key + "/dropped").value());
  const Told release(released);
  const Told drop(*dropped);
  const Told limit(limited);
  const Told close(closed);
  EXPECT_TRUE(ok(released.release()));
  EXPECT_TRUE(eventually([&] { return release.yet(); }));
  dropped.reset();
  EXPECT_TRUE(eventually([&] { return drop.yet(); }));
  EXPECT_TRUE(eventually([&] { return limit.yet(); }));
  EXPECT_GE(limit.at(), limited.valid_until() - 500ms);
  EXPECT_LT(limit.at(), limited.valid_until());
  EXPECT_FALSE(close.yet());
  coordinator.close();
  EXPECT_TRUE(close.yet());
}

TEST_F(Loss, AStopTokenTakenAfterTheEndIsAlreadyRequested) {
  // A stop token that is first taken after the end has already been requested.
  Coordinator coordinator = connect();
  Lease lease = coordinator.acquire(key, {.ttl = 300ms, .wait = 20s, .auto_extend = false}).value();
  EXPECT_TRUE(eventually([&] { return !lease.is_valid(); }));
  EXPECT_TRUE(eventually([&] { return lease.stop_token().stop_requested(); }));
}

class LossInOtherProcess : public FiveNodes {
 protected:
  static std::string urls() {
    std::string list;
    for (const std::string& url : cluster().urls()) list += (list.empty() ? "" : ",") + url;
    return list;
  }
  Process hold(const std::string& ttl_ms) const {
    return Process({QUORUMLOCK_TEST_WORKER, "hold", urls(), key, ttl_ms});
  }
  static Clock::time_point time(long long since_boot) {
    return Clock::time_point(Clock::duration(since_boot));
  }
};

TEST_F(LossInOtherProcess, AStoppedHolderDoesNotBelieveAfterItsTtl) {
  // A holder is stopped with SIGSTOP until another process has the lock. When the holder continues,
  // its lease is never valid again, its stop token is requested, and it leaves the new holder's
  // keys alone.
  Coordinator coordinator = connect();
  Process holder = hold("700");
  const std::string held = holder.line();
  ASSERT_TRUE(held.starts_with("held "));
  holder.stop();
  Lease lease = coordinator.acquire(key, {.wait = forever}).value();
  const Clock::time_point acquired = Clock::now();
  holder.resume();
  std::istringstream over(holder.line());
  std::string word;
  long long believed = 0;
  long long told = 0;
  bool revived = true;
  over >> word >> believed >> told >> revived;
  EXPECT_EQ(word, "over");
  EXPECT_LT(time(believed), acquired);
  EXPECT_GT(time(told), acquired);
  EXPECT_FALSE(revived);
  holder.say("");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(lease.is_valid());
  EXPECT_TRUE(eventually([&] { return cluster().holders(key, lease.owner_token()) >= 3; }));
}

TEST_F(LossInOtherProcess, TheLockOfAKilledHolderIsFreeAfterItsTtl) {
  // A killed holder renews no more: the lock is free one ttl later, and not before.
  Coordinator coordinator = connect();
  Process holder = hold("1500");
  const std::string token = holder.line().substr(5);
  EXPECT_TRUE(fails_with(coordinator.acquire(key), Errc::contended));
  holder.signal(SIGKILL);
  EXPECT_EQ(holder.wait(), 128 + SIGKILL);
  EXPECT_GE(cluster().holders(key, token), 3);
  const Result<Lease> lease = coordinator.acquire(key, {.wait = forever});
  ASSERT_TRUE(ok(lease));
  EXPECT_NE(lease->owner_token(), token);
}

}  // namespace
}  // namespace quorumlock::test
