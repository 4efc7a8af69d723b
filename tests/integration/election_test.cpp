#include <algorithm>
#include <coroutine>
#include <mutex>
#include <vector>

#include "integration/fixture.hpp"
#include "support/process.hpp"
#include "support/uv_loop.hpp"

// Leaders among several candidates, on real servers.
namespace quorumlock::test {
namespace {

using Seen = std::optional<Leader>;

std::vector<std::string> values(const std::vector<Seen>& seen) {
  std::vector<std::string> values;
  for (const Seen& one : seen) values.push_back(one ? one->value : "nobody");
  return values;
}

class Elections : public FiveNodes {
 protected:
  /// Records everything that an observer sees.
  class Observer {
   public:
    explicit Observer(Election election) {
      EXPECT_TRUE(ok(election.observe(stop_.get_token(), [this](Seen leader) {
        const std::lock_guard<std::mutex> lock(guard_);
        seen_.push_back(std::move(leader));
      })));
    }
    ~Observer() { stop_.request_stop(); }
    std::vector<Seen> seen() {
      const std::lock_guard<std::mutex> lock(guard_);
      return seen_;
    }
    /// Returns once this value is the last one that the observer has seen.
    ::testing::AssertionResult hears(const std::string& value) {
      const auto last = [this] {
        const std::vector<std::string> all = values(seen());
        return all.empty() ? "nothing" : all.back();
      };
      if (eventually([&] { return last() == value; })) return ::testing::AssertionSuccess();
      return ::testing::AssertionFailure() << "it has heard of " << last() << " last";
    }

   private:
    std::mutex guard_;
    std::vector<Seen> seen_;
    std::stop_source stop_;
  };

  void see_waiters(long long count) const {
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", "quorumlock:queue:" + key}).integer != count)
          return false;
      }
      return true;
    })) << count
        << " waiters";
  }
  Election election_of(Coordinator& coordinator) const { return {coordinator, key}; }
};

TEST_F(Elections, TheNextCandidateLeadsInOrder) {
  // Three candidates campaign in turn. The first resigns, the second is dropped, the third leads
  // until it resigns: an observer sees each of them, with growing fencing tokens.
  std::vector<Coordinator> candidates;
  for (int i = 0; i < 3; ++i) candidates.push_back(connect());
  Coordinator elsewhere = connect();
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("nobody"));
  Result<Leadership> first = election_of(candidates[0]).campaign("a");
  ASSERT_TRUE(ok(first));
  ASSERT_TRUE(observer.hears("a"));
  Answer<Result<Leadership>> second;
  Answer<Result<Leadership>> third;
  // The first candidate holds the lock; its request did not wait.
  election_of(candidates[1]).async_campaign("b", {}, second.handler());
  see_waiters(1);
  election_of(candidates[2]).async_campaign("c", {}, third.handler());
  see_waiters(2);
  EXPECT_EQ(second.calls(), 0);
  EXPECT_TRUE(ok(first->resign()));
  EXPECT_FALSE(first->is_valid());
  {
    const Result<Leadership> leads = second.get();
    ASSERT_TRUE(ok(leads));
    EXPECT_GT(leads->fencing_token(), first->fencing_token());
    EXPECT_TRUE(leads->is_valid());
    EXPECT_EQ(third.calls(), 0);
    ASSERT_TRUE(observer.hears("b"));
  }
  Result<Leadership> last = third.get();
  ASSERT_TRUE(ok(last));
  ASSERT_TRUE(observer.hears("c"));
  EXPECT_TRUE(ok(last->resign()));
  ASSERT_TRUE(observer.hears("nobody"));
  // On a slow machine an observer may see no leader in between, or one without a value yet.
  std::vector<Seen> leaders = observer.seen();
  std::erase_if(leaders, [](const Seen& one) { return !one || one->value.empty(); });
  EXPECT_EQ(values(leaders), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(leaders[0]->owner_token, first->lease().owner_token());
  EXPECT_LT(leaders[0]->fencing_token, leaders[1]->fencing_token);
  EXPECT_EQ(leaders[2]->fencing_token, last->fencing_token());
  EXPECT_TRUE(eventually([&] { return cluster().holders("quorumlock:leader:" + key) == 0; }));
}

TEST_F(Elections, ALateObserverSeesTheCurrentLeader) {
  // leader() returns the current leader, and it is the first that a new observer sees.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Result<Seen> nobody = election_of(elsewhere).leader();
  ASSERT_TRUE(ok(nobody));
  EXPECT_FALSE(nobody->has_value());
  const std::string value("any\0bytes", 9);
  Result<Leadership> leads = election_of(coordinator).campaign(value);
  ASSERT_TRUE(ok(leads));
  Result<Seen> seen = election_of(elsewhere).leader();
  ASSERT_TRUE(ok(seen));
  const Leader expected{value, leads->fencing_token(), leads->lease().owner_token()};
  EXPECT_EQ(*seen, expected);
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears(value));
  EXPECT_EQ(observer.seen().front(), expected);
}

TEST_F(Elections, ALeaderProclaimsWithAMinorityOfNodesAway) {
  Coordinator coordinator = connect();
  Result<Leadership> leads = election_of(coordinator).campaign("warming up");
  ASSERT_TRUE(ok(leads));
  for (const int node : {0, 3}) cluster().kill(node);
  EXPECT_TRUE(ok(leads->proclaim("ready")));
}

TEST_F(Elections, ALeaderProclaims) {
  // Others see what the leader last proclaimed, in order and without a change of leader.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Result<Leadership> leads = election_of(coordinator).campaign("warming up");
  ASSERT_TRUE(ok(leads));
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("warming up"));
  EXPECT_TRUE(ok(leads->proclaim("ready")));
  ASSERT_TRUE(observer.hears("ready"));
  EXPECT_EQ(election_of(elsewhere).leader().value()->value, "ready");
  EXPECT_TRUE(ok(leads->proclaim("busy")));
  ASSERT_TRUE(observer.hears("busy"));
  const std::vector<Seen> seen = observer.seen();
  EXPECT_EQ(values(seen), (std::vector<std::string>{"warming up", "ready", "busy"}));
  EXPECT_EQ(seen.back()->fencing_token, leads->fencing_token());
}

TEST_F(Elections, ImpossibleProclamationsAreRefused) {
  // These are refused: too long a value, a shared campaign, an empty name, a value after resigning,
  // and one by a default-constructed leadership.
  Coordinator coordinator = connect();
  const std::string long_value(65537, 'x');
  EXPECT_TRUE(fails_with(election_of(coordinator).campaign(long_value), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(Election(coordinator, key, {.mode = LockMode::shared}).campaign("x"),
                         Errc::invalid_argument));
  EXPECT_TRUE(fails_with(Election(coordinator, "").campaign("x"), Errc::invalid_argument));
  EXPECT_TRUE(fails_with(Election(coordinator, "").leader(), Errc::invalid_argument));
  EXPECT_TRUE(
      fails_with(Election(coordinator, "").observe([](const Seen&) {}), Errc::invalid_argument));
  Result<Leadership> leads = election_of(coordinator).campaign(long_value.substr(1));
  ASSERT_TRUE(ok(leads));
  EXPECT_EQ(election_of(coordinator).leader().value()->value.size(), 65536U);
  EXPECT_TRUE(fails_with(leads->proclaim(long_value), Errc::invalid_argument));
  EXPECT_TRUE(ok(leads->resign()));
  EXPECT_TRUE(fails_with(leads->proclaim("late"), Errc::not_held));
  EXPECT_TRUE(fails_with(leads->resign(), Errc::not_held));
  Leadership nothing;
  EXPECT_TRUE(fails_with(nothing.proclaim("x"), Errc::not_held));
  EXPECT_TRUE(fails_with(nothing.resign(), Errc::not_held));
  EXPECT_FALSE(nothing.is_valid());
}

TEST_F(Elections, ACampaignIsCancelledOrRunsOut) {
  // Another client holds the lock: a cancelled campaign and one whose wait ends lead nothing.
  Coordinator coordinator = connect();
  const Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::stop_source stop;
  Answer<Result<Leadership>> cancelled;
  election_of(coordinator).async_campaign("x", stop.get_token(), cancelled.handler());
  see_waiters(1);
  stop.request_stop();
  EXPECT_TRUE(fails_with(cancelled.get(), Errc::cancelled));
  EXPECT_TRUE(fails_with(Election(coordinator, key, {.wait = 1s}).campaign("x"), Errc::timed_out));
}

TEST_F(Elections, AHolderThatProclaimsNothingLeadsToo) {
  // A plain holder of the lock of that name, as with `quorumlock run`, is seen without a value.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("nobody"));
  Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(observer.hears(""));
  const Leader expected{"", lease->fencing_token(), lease->owner_token()};
  EXPECT_EQ(observer.seen().back(), expected);
  EXPECT_EQ(election_of(elsewhere).leader().value(), expected);
}

TEST_F(Elections, AKilledLeaderIsReplaced) {
  // Another process leads and is killed. The waiting candidate leads once the ttl is over; the
  // observer, which gets no message of the death, sees the successor.
  std::string urls;
  for (const std::string& url : cluster().urls()) urls += (urls.empty() ? "" : ",") + url;
  Process process({QUORUMLOCK_TEST_WORKER, "lead", urls, key, "2000", "there"});
  ASSERT_EQ(process.line(), "leading");
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("there"));
  Answer<Result<Leadership>> next;
  election_of(coordinator).async_campaign("here", {}, next.handler());
  see_waiters(1);
  process.signal(SIGKILL);
  const Result<Leadership> leads = next.get();
  ASSERT_TRUE(ok(leads));
  ASSERT_TRUE(observer.hears("here"));
  const std::vector<Seen> seen = observer.seen();
  EXPECT_EQ(values(seen).front(), "there");
  EXPECT_LT(seen.front()->fencing_token, seen.back()->fencing_token);
}

TEST_F(Elections, ALossIsReported) {
  // Too few nodes are left: the leader's stop token is requested, and it can proclaim no more.
  Coordinator coordinator = connect();
  Result<Leadership> leads = Election(coordinator, key, {.ttl = 2s}).campaign("x");
  ASSERT_TRUE(ok(leads));
  for (const int node : {0, 1, 2}) cluster().kill(node);
  ASSERT_TRUE(eventually([&] { return leads->stop_token().stop_requested(); }));
  EXPECT_TRUE(fails_with(election_of(coordinator).leader(), Errc::no_quorum));
  ASSERT_TRUE(eventually([&] { return !leads->is_valid(); }));
  EXPECT_TRUE(fails_with(leads->proclaim("y"), Errc::not_held));
}

TEST_F(Elections, ChangesAreSeenWithoutMessages) {
  // No client may publish or subscribe: the observer looks by itself.
  cluster().raw_everywhere({"ACL", "SETUSER", "default", "resetchannels"});
  const std::shared_ptr<void> allowed_again(nullptr, [](void*) {
    cluster().raw_everywhere({"ACL", "SETUSER", "default", "allchannels"});
  });
  Coordinator elsewhere = connect();
  Coordinator coordinator = connect();
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("nobody"));
  Result<Leadership> leads = election_of(coordinator).campaign("x");
  ASSERT_TRUE(ok(leads));
  EXPECT_TRUE(observer.hears("x"));
}

TEST_F(Elections, ObserversSurviveBrokenConnections) {
  // All connections break, including those for messages; the observer still sees the next change.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Result<Leadership> leads = election_of(coordinator).campaign("x");
  ASSERT_TRUE(ok(leads));
  Observer observer(election_of(elsewhere));
  ASSERT_TRUE(observer.hears("x"));
  for (int node = 0; node < 5; ++node) cluster().drop_clients(node);
  ASSERT_TRUE(eventually([&] { return leads->proclaim("y").has_value(); }));
  EXPECT_TRUE(observer.hears("y"));
}

TEST_F(Elections, AStoppedObserverIsNotCalled) {
  // An observer that was stopped sees nothing of the next leader; nor does one that was stopped
  // before it began.
  Coordinator coordinator = connect();
  std::stop_source stop;
  std::stop_source stopped;
  stopped.request_stop();
  Answer<Seen> one;
  Answer<Seen> other;
  Election election = election_of(coordinator);
  ASSERT_TRUE(ok(election.observe(stop.get_token(), one.handler())));
  ASSERT_TRUE(ok(election.observe(stopped.get_token(), other.handler())));
  Observer still(election);
  (void)one.get();
  stop.request_stop();
  const Result<Leadership> leads = election.campaign("x");
  ASSERT_TRUE(ok(leads));
  ASSERT_TRUE(still.hears("x"));
  EXPECT_EQ(one.calls(), 1);
  EXPECT_EQ(other.calls(), 0);
}

TEST_F(Elections, CloseEndsThem) {
  // A campaign, an observer and a leadership do not keep a coordinator from closing.
  Coordinator coordinator = connect();
  Coordinator elsewhere = connect();
  Result<Leadership> leads = election_of(coordinator).campaign("x");
  ASSERT_TRUE(ok(leads));
  Answer<Result<Leadership>> waiting;
  election_of(coordinator).async_campaign("y", {}, waiting.handler());
  Answer<Seen> seen;
  ASSERT_TRUE(ok(election_of(coordinator).observe(seen.handler())));
  coordinator.close();
  EXPECT_TRUE(fails_with(waiting.get(), Errc::closed));
  EXPECT_FALSE(leads->is_valid());
  EXPECT_TRUE(fails_with(leads->proclaim("z"), Errc::closed));
  EXPECT_TRUE(fails_with(election_of(coordinator).leader(), Errc::closed));
  EXPECT_TRUE(ok(election_of(elsewhere).campaign("z")));
}

/// The smallest possible task type.
struct Started {
  struct promise_type {
    Started get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Started lead(Election election, bool& over) {
  Result<Leadership> leads = co_await election.co_campaign("x");
  EXPECT_TRUE(ok(leads));
  if (!leads) co_return;
  EXPECT_TRUE(fails_with(leads->proclaim("y"), Errc::would_deadlock));
  EXPECT_TRUE(fails_with(election.leader(), Errc::would_deadlock));
  EXPECT_TRUE(fails_with(election.campaign("y"), Errc::would_deadlock));
  const auto mine = std::make_shared<Leadership>(std::move(*leads));
  mine->async_proclaim("y", [&over, mine](const Result<void>& said) {
    EXPECT_TRUE(ok(said));
    mine->async_resign([&over, mine](const Result<void>& resigned) {
      EXPECT_TRUE(ok(resigned));
      over = true;
    });
  });
}

TEST_F(Elections, WorkOnTheLoopOfAHost) {
  // A coroutine campaigns, proclaims and resigns; after that nothing keeps the loop alive.
  UvLoop loop;
  {
    Coordinator coordinator = Coordinator::attach(loop.get(), options()).value();
    bool over = false;
    lead(election_of(coordinator), over);
    loop.run();
    EXPECT_TRUE(over);
  }
  loop.run();
  EXPECT_EQ(loop.close(), 0);
  EXPECT_TRUE(cluster().keys().empty());
}

TEST_F(Elections, AnElectorWhoseWorkCannotBeginCampaignsLessAndLessOften) {
  // The work returns at once, five times, and is let work the sixth time. Without a pause there
  // were hundreds of leaderships a second, each with some seventy commands on each node.
  Coordinator coordinator = connect();
  warm(coordinator);
  std::vector<Clock::time_point> elected;  // written by one thread, read after its end
  std::stop_source ending;
  LeaderCallbacks callbacks;
  callbacks.started = [&](Leadership&, const std::stop_token&) {
    elected.push_back(Clock::now());
    if (elected.size() == 6) ending.request_stop();
  };
  LeaderElector elector(coordinator, key, "one", callbacks);
  const long long before = cluster().commands(0);
  ASSERT_TRUE(ok(elector.run(ending.get_token())));
  const long long commands = cluster().commands(0) - before;
  ASSERT_EQ(elected.size(), 6U);
  for (int i = 0; i < 5; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_GE(elected[at + 1] - elected[at], 50ms * (1 << i)) << i;
  }
  EXPECT_LT(commands, 6 * 100);
}

TEST_F(Elections, AnElectorThatPausesEndsAtOnce) {
  // The stop is requested in the first pause.
  Coordinator coordinator = connect();
  std::stop_source ending;
  LeaderCallbacks callbacks;
  callbacks.started = [](Leadership&, const std::stop_token&) {};
  callbacks.stopped = [&] { ending.request_stop(); };
  LeaderElector elector(coordinator, key, "one", callbacks);
  EXPECT_TRUE(ok(elector.run(ending.get_token())));
  EXPECT_FALSE(elector.leads());
}

}  // namespace
}  // namespace quorumlock::test
