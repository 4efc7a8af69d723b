#include <quorumlock/admin.hpp>

#include <map>
#include <thread>

#include "integration/seven_nodes.hpp"
#include "members/enrolment_record.hpp"
#include "members/membership.hpp"
#include "verbs/keys.hpp"

// Changing the list of nodes while clients lock.
namespace quorumlock::test {
namespace {

using MembersChanges = SevenNodes;
using Counts = std::map<std::string, int>;

TEST_F(MembersChanges, ANodeIsReplacedWhileClientsLock) {
  // The list changes from {0, 1, 2, 3, 4} to {0, 1, 2, 3, 5}. Clients of both lists are served from
  // the announcement to the commit. The sixth node votes once the new list is settled, and the
  // fifth never again.
  Coordinator old = connect(options({0, 1, 2, 3, 4}));
  Coordinator with_new = connect(options({0, 1, 2, 3, 5}));
  ASSERT_TRUE(soon(old));
  MembersChange change = change_to({0, 1, 2, 3, 5});
  EXPECT_EQ(look(change).stage, MembersStage::differs);
  EXPECT_EQ(states(look(change)), (Counts{{"settled", 5}, {"new", 1}}));

  ASSERT_TRUE(ok(change.announce()));
  EXPECT_EQ(look(change).stage, MembersStage::announced);
  EXPECT_TRUE(soon(old));
  EXPECT_TRUE(soon(with_new));
  Result<Lease> held = with_new.acquire(key_ + "/held");
  ASSERT_TRUE(ok(held));

  // A client with the old list is connected.
  EXPECT_FALSE(look(change).old_clients().empty());
  const Result<void> refused = change.commit();
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_NE(std::string(refused.error().what()).find("--force"), std::string::npos);
  EXPECT_EQ(look(change).stage, MembersStage::announced);
  ASSERT_TRUE(ok(change.commit(true)));
  EXPECT_EQ(look(change).stage, MembersStage::committed);
  EXPECT_TRUE(fails_with(old.acquire(key_, {.wait = 1s}), Errc::misconfigured));
  EXPECT_TRUE(soon(with_new));
  finish(change);
  EXPECT_TRUE(held->is_valid());
  EXPECT_EQ(states(look(change)), (Counts{{"settled", 5}, {"removed", 1}}));

  // The new node makes up for two that are down.
  cluster_.kill(0);
  cluster_.kill(1);
  EXPECT_TRUE(soon(with_new));
  EXPECT_TRUE(held->is_valid());
}

TEST_F(MembersChanges, NoCallIsRefusedBecauseOfAChange) {
  // A client asks for a lock over and over, without any wait, while its list is announced,
  // committed and settled. Its nodes' records change under it three times.
  Coordinator coordinator = connect(options({0, 1, 2, 3, 5}));
  MembersChange change = change_to({0, 1, 2, 3, 5});
  ASSERT_TRUE(ok(change.announce()));
  ASSERT_TRUE(soon(coordinator));
  std::uint64_t last = 0;
  std::atomic<int> failures = 0;
  std::string sentence;
  std::atomic<bool> ends = false;
  std::thread user([&] {
    while (!ends) {
      const Result<Lease> lease = coordinator.acquire(key_);
      if (!lease) {
        ++failures;
        sentence = lease.error().what();
        continue;
      }
      EXPECT_GT(lease->fencing_token(), last);
      last = lease->fencing_token();
    }
  });
  EXPECT_TRUE(ok(change.commit()));
  finish(change);
  ends = true;
  user.join();
  EXPECT_EQ(failures, 0) << sentence;
}

TEST_F(MembersChanges, TokensGrowAcrossAChange) {
  // The counter of the lock is ahead of the clocks, and stands on three of the five nodes. Two of
  // the three leave, one after the other.
  const auto then = std::chrono::system_clock::now().time_since_epoch() + 1h;
  const auto ahead = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(then).count());
  for (const int node : {2, 3, 4}) {
    cluster_.raw(node, {"SET", "quorumlock:fence:" + key_, std::to_string(ahead)});
  }
  std::vector<int> nodes{0, 1, 2, 3, 4};
  for (const auto& [from, to] : {std::pair(4, 5), std::pair(3, 6)}) {
    std::ranges::replace(nodes, from, to);
    MembersChange change = change_to(nodes);
    ASSERT_TRUE(ok(change.announce()));
    Coordinator coordinator = connect(options(nodes));  // looks after the new node
    ASSERT_TRUE(ok(change.commit()));
    finish(change);
    cluster_.kill(from);
  }
  cluster_.kill(2);
  Coordinator coordinator = connect(options(nodes));
  Result<Lease> lease = coordinator.acquire(key_, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  EXPECT_GT(lease->fencing_token(), ahead);
}

TEST_F(MembersChanges, WhatIsDoneOnceStaysDoneAcrossAChange) {
  // Three of the five nodes have noted that the period is done. Two of these leave, one after the
  // other, and the third is lost.
  for (const int node : {2, 3, 4}) {
    cluster_.raw(node, {"SET", "quorumlock:once:" + key_, "77", "EX", "864000"});
  }
  std::vector<int> nodes{0, 1, 2, 3, 4};
  for (const auto& [from, to] : {std::pair(4, 5), std::pair(3, 6)}) {
    std::ranges::replace(nodes, from, to);
    MembersChange change = change_to(nodes);
    ASSERT_TRUE(ok(change.announce()));
    Coordinator coordinator = connect(options(nodes));  // looks after the new node
    ASSERT_TRUE(ok(change.commit()));
    finish(change);
    cluster_.kill(from);
  }
  cluster_.kill(2);
  Coordinator coordinator = connect(options(nodes));
  const Result<quorumlock::Once> result =
      coordinator.once(key_, 77, {.wait = 20s}, [] { ADD_FAILURE() << "it runs again"; });
  ASSERT_TRUE(ok(result));
  EXPECT_EQ(*result, quorumlock::Once::done_before);
  EXPECT_GT(cluster_.pttl(nodes.back(), "quorumlock:once:" + key_), std::chrono::hours(200));
}

TEST_F(MembersChanges, ACounterThatNoScriptWritesDoesNotEndTheFences) {
  // It is as great as no fencing token may be. The new list's floor comes from the nodes' clocks.
  for (const int node : {0, 1, 2, 3, 4}) {
    cluster_.raw(node, {"SET", "quorumlock:fence:odd", "9007199254740992"});
  }
  const std::vector<int> nodes{0, 1, 2, 3, 5};
  MembersChange change = change_to(nodes);
  ASSERT_TRUE(ok(change.announce()));
  ASSERT_TRUE(ok(change.commit()));
  std::uint64_t before = 0;
  ASSERT_TRUE(eventually([&] {
    const Reply time = cluster_.raw(0, {"TIME"});
    before = std::stoull(time.elements[0].text) * 1'000'000 + std::stoull(time.elements[1].text);
    const Result<std::chrono::nanoseconds> left = change.settle();
    return left && *left == 0ns;
  }));
  Coordinator coordinator = connect(options(nodes));
  const Result<Lease> lease = coordinator.acquire(key_, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  // A token may be a minute ahead of a node's clock (acquire.lua), to the microsecond.
  EXPECT_GT(lease->fencing_token(), before + 60'000'000);
}

TEST_F(MembersChanges, TheListGrowsAndShrinks) {
  // The list grows from five nodes to seven, one at a time, and shrinks back.
  std::vector<int> nodes{0, 1, 2, 3, 4};
  const auto go = [&] {
    MembersChange change = change_to(nodes);
    ASSERT_TRUE(ok(change.announce()));
    Coordinator coordinator = connect(options(nodes));
    ASSERT_TRUE(ok(change.commit()));
    finish(change);
    EXPECT_TRUE(soon(coordinator));
  };
  for (const int more : {5, 6}) {
    nodes.push_back(more);
    ASSERT_NO_FATAL_FAILURE(go());
  }
  for (int left = 2; left > 0; --left) {
    nodes.erase(nodes.begin());
    ASSERT_NO_FATAL_FAILURE(go());
  }
  EXPECT_EQ(change_to(nodes).look()->front().epoch, 4U);
}

TEST_F(MembersChanges, AnAnnouncementCanBeTakenBack) {
  // The nodes serve the old list alone again; after the commit there is no way back.
  Coordinator old = connect(options({0, 1, 2, 3, 4}));
  MembersChange change = change_to({0, 1, 2, 3, 5});
  EXPECT_TRUE(fails_with(change.withdraw(), Errc::misconfigured));
  ASSERT_TRUE(ok(change.announce()));
  ASSERT_TRUE(ok(change.withdraw()));
  EXPECT_EQ(look(change).stage, MembersStage::differs);
  EXPECT_TRUE(soon(old));
  Coordinator with_new = connect(options({0, 1, 2, 3, 5}));
  EXPECT_TRUE(fails_with(with_new.acquire(key_, {.wait = 1s}), Errc::misconfigured));
  ASSERT_TRUE(ok(change.announce()));
  ASSERT_TRUE(ok(change.commit(true)));
  EXPECT_TRUE(fails_with(change.withdraw(), Errc::misconfigured));
}

TEST_F(MembersChanges, UnsafeStepsAreRefused) {
  // If three of five nodes left at once, only two would remember. Nothing is changed.
  MembersChange change = change_to({0, 1, 5, 6});
  const Result<void> refused = change.announce();
  ASSERT_TRUE(fails_with(refused, Errc::misconfigured));
  EXPECT_NE(std::string(refused.error().what()).find("share 2 nodes, and 3 are needed"),
            std::string::npos)
      << refused.error().what();
  EXPECT_EQ(look(change).stage, MembersStage::differs);
  EXPECT_TRUE(fails_with(change.commit(), Errc::misconfigured));
  const Result<std::chrono::nanoseconds> settled = change.settle();
  EXPECT_TRUE(fails_with(settled, Errc::misconfigured));
}

TEST_F(MembersChanges, AnotherChangeHasToEndFirst) {
  MembersChange first = change_to({0, 1, 2, 3, 5});
  ASSERT_TRUE(ok(first.announce()));
  MembersChange second = change_to({0, 1, 2, 3, 6});
  EXPECT_EQ(look(second).stage, MembersStage::other);
  EXPECT_TRUE(fails_with(second.announce(), Errc::misconfigured));
  EXPECT_TRUE(ok(second.withdraw()));
  EXPECT_TRUE(ok(second.announce()));
  EXPECT_TRUE(fails_with(first.commit(), Errc::misconfigured));
}

TEST_F(MembersChanges, TooFewNodesAreRefused) {
  // Three of five are needed to announce a change, and the new node has to be there.
  for (const int node : {0, 1, 2}) cluster_.kill(node);
  EXPECT_TRUE(fails_with(change_to({0, 1, 2, 3, 5}).announce(), Errc::no_quorum));
  cluster_.kill(5);
  const Result<void> refused = change_to({0, 1, 2, 3, 5}).announce();
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_NE(std::string(refused.error().what()).find("have to run first"), std::string::npos);
}

TEST_F(MembersChanges, ANodeThatWasAwayCatchesUp) {
  // Node 3 was silent during the whole change. It refuses the new list until somebody commits
  // again.
  MembersChange change = change_to({0, 1, 2, 3, 5});
  cluster_.pause(3);
  ASSERT_TRUE(ok(change.announce()));
  Coordinator coordinator = connect(options({0, 1, 2, 3, 5}));
  ASSERT_TRUE(ok(change.commit()));
  settle(change);
  ASSERT_TRUE(soon(coordinator));
  cluster_.resume(3);
  MembersChange later = change_to({0, 1, 2, 3, 5});
  EXPECT_TRUE(eventually([&] { return states(look(later))["behind"] == 1; }));
  EXPECT_FALSE(look(later).done);
  ASSERT_TRUE(ok(later.commit()));
  finish(later);
}

TEST_F(MembersChanges, ALongerMemoryIsSettledAboveEachNodesOwnCounters) {
  // Node 3 is silent from the commit until the longer fencing_memory governs. The counter that only
  // it has then lives for the old one, and an absent counter would begin below it.
  const std::string counter = "quorumlock:fence:" + key_;
  const auto then = std::chrono::system_clock::now().time_since_epoch() + 1h;
  const auto ahead = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(then).count());
  cluster_.raw(3, {"SET", counter, std::to_string(ahead)});
  Options of_operator = options({0, 1, 2, 3, 4});
  of_operator.fencing_memory = 48h;
  of_operator.node_timeout = 1s;
  of_operator.connect_timeout = 2s;
  Result<MembersChange> change = MembersChange::open(of_operator);
  ASSERT_TRUE(ok(change));
  ASSERT_TRUE(ok(change->announce()));
  cluster_.pause(3);
  ASSERT_TRUE(ok(change->commit()));
  settle(*change);
  cluster_.resume(3);
  EXPECT_TRUE(eventually([&] { return states(look(*change))["behind"] == 1; }));
  ASSERT_TRUE(ok(change->commit()));
  finish(*change);
  const auto record = redis::EnrolmentRecord::parse(
      std::string(cluster_.raw(3, {"GET", std::string(redis::enrolment_key)}).text));
  ASSERT_TRUE(record);
  EXPECT_GE(record->floor, ahead);
}

TEST_F(MembersChanges, WhatOneNodeMakesUpChangesNothingForTheOthers) {
  // Somebody writes other records on node 4, each of which made its own vote enough once, or the
  // four others too old to count. Clients are served as if that node were down, and an operator
  // makes it forget what it says.
  const std::vector<int> nodes{0, 1, 2, 3, 4};
  Coordinator coordinator = connect(options(nodes));
  ASSERT_TRUE(soon(coordinator));
  const auto text = [this](std::string_view key) {
    return std::string(cluster_.raw(4, {"GET", std::string(key)}).text);
  };
  using redis::Membership;
  const auto forge = [&](auto&& change) {
    auto record = redis::EnrolmentRecord::parse(text(redis::enrolment_key)).value();
    auto its = Membership::parse(text(redis::members_key), record.members).value();
    change(its);
    record.members = its.mark();
    cluster_.raw(4, {"MSET", std::string(redis::enrolment_key), record.to_string(),
                     std::string(redis::members_key), its.text()});
  };
  const std::function<void(Membership&)> lies[] = {
      [](Membership& its) { its.epoch = 9; },
      [](Membership& its) {
        its = {its.founding, 3, ListPhase::unsettled, its.name, {its.name}, its.to};
      },
      [](Membership& its) {
        its = {its.founding, 3, ListPhase::announced, its.name, {its.name, "x:1"}, its.to};
      },
      [](Membership& its) { its.to = {its.name}; },
  };
  for (const auto& lie : lies) {
    forge(lie);
    // A client that comes now sees all five nodes, and an older one sees it at its next look.
    Coordinator fresh = connect(options(nodes));
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(ok(fresh.acquire(key_, {.wait = 5s})));
      EXPECT_TRUE(ok(coordinator.acquire(key_, {.wait = 5s})));
    }
    MembersChange change = change_to(nodes);
    EXPECT_EQ(states(look(change)), (Counts{{"settled", 4}, {"apart", 1}}));
    EXPECT_NE(look(change).next_step.find("quorumlock members commit"), std::string::npos);
    ASSERT_TRUE(ok(change.commit()));
    settle(change);
    ASSERT_TRUE(eventually([&] { return soon(coordinator) && look(change).done; }))
        << "a client has let it in again";
  }
}

TEST_F(MembersChanges, AnybodyFinishesWhatAnotherHasBegun) {
  // The first operator's program ends after each step.
  ASSERT_TRUE(ok(change_to({0, 1, 2, 3, 5}).announce()));
  ASSERT_TRUE(ok(change_to({0, 1, 2, 3, 5}).commit()));
  Coordinator coordinator = connect(options({0, 1, 2, 3, 5}));
  MembersChange last = change_to({0, 1, 2, 3, 5});
  ASSERT_TRUE(ok(last.announce()));  // the change is over: this does nothing
  ASSERT_TRUE(ok(last.commit()));
  finish(last);
}

}  // namespace
}  // namespace quorumlock::test
