#include <set>

#include "support/engine_line.hpp"

// Permits: which slot is tried, and what happens if none is free (wait/permits.cpp).
namespace quorumlock::test {
namespace {

class Permits : public EngineLine {
 protected:
  /// A refusal: the slot is taken, and slot `free` is the next free one; 0: none is free.
  static core::Answer taken(int free) {
    core::Answer answer{Vote::held, false, 5, node_time};
    answer.free_slot = free;
    return answer;
  }
  /// The slot that the last acquisition asked for.
  [[nodiscard]] int asked() const { return sent(CommandKind::acquire).back().slot; }
  /// Waiter 1 is refused and becomes first in the line. All nodes report that all permits are
  /// taken.
  void wait_in_the_line(int capacity) {
    driver.acquire_permit(1, capacity, 1h);
    answer({taken(0), taken(0), taken(0)});
    for (const int node : {0, 1, 2}) {
      while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
        driver.reply(node, Vote::absent);
      }
      driver.reply(node, {first});
    }
    driver.forget_seen();
  }
  /// Each node answers its acquisition, and any releases before it.
  void answer(std::initializer_list<core::Answer> answers) {
    int node = 0;
    for (const core::Answer& each : answers) {
      while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
        driver.reply(node, Vote::absent);
      }
      driver.reply(node++, each);
    }
  }
};

TEST_F(Permits, TriesTheSlotThatNodesNameAsFree) {
  // The second round follows without a pause and wins that slot, with another token.
  driver.acquire_permit(1, 9);
  const Command first = sent(CommandKind::acquire).at(0);
  const int other = first.slot % 9 + 1;
  answer({taken(other), taken(other)});
  EXPECT_EQ(asked(), other);
  EXPECT_NE(sent(CommandKind::acquire).at(1).token, first.token);
  driver.reply(2, taken(other));
  answer({{Vote::granted}, {Vote::granted}});
  EXPECT_EQ(driver.only<core::Acquired>().attempts, 2);
  EXPECT_EQ(driver.engine().claim(driver.lease())->permit.slot, other);
}

TEST_F(Permits, PrefersTheSlotThatMostNodesName) {
  EngineDriver five({.nodes = 5, .retry_delay = EngineDriver::delay});
  five.acquire_permit(1, 9);
  const int first = five.unanswered(0).front().slot;
  const int lower = first < 8 ? 8 : 1;
  const int upper = first < 8 ? 9 : 2;
  five.reply(0, taken(lower));
  five.reply(1, taken(upper));
  five.reply(2, taken(upper));
  EXPECT_EQ(five.unanswered(4).back().slot, upper);
}

TEST_F(Permits, IsContendedIfNoSlotIsFreeOnAQuorum) {
  driver.acquire_permit(1, 3);
  answer({taken(0), taken(0)});
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(Permits, ASlotThatOneNodeAloneHasFreeIsNotTried) {
  // The other nodes have reported the slot as taken, one of them in the round before.
  driver.acquire_permit(1, 3);
  const int other = asked() % 3 + 1;
  const int third = other % 3 + 1;
  answer({taken(other), taken(0)});
  EXPECT_EQ(asked(), other);
  driver.reply(2, taken(0));
  driver.reply(2, Vote::absent);
  driver.reply(2, taken(0));
  answer({taken(third)});
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(driver.count(CommandKind::acquire), 6U);
  answer_rest();
  driver.expect_nothing_left();
}

TEST_F(Permits, DoesNotTryForEver) {
  // Each slot that the nodes name is taken by the time of the next attempt.
  driver.acquire_permit(1, 100);
  int rounds = 0;
  for (; driver.count<core::Refused>() == 0 && rounds < 50; ++rounds) {
    const core::Answer refused = taken(asked() % 100 + 1);
    answer({refused, refused, refused});
  }
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(rounds, 8);
}

TEST_F(Permits, BeginsWithTheSlotThatItHasReleased) {
  driver.acquire_permit(1, 1000);
  const int first = asked();
  driver.answer_all();
  driver.release(driver.lease());
  driver.answer_all();
  driver.acquire_permit(2, 1000);
  EXPECT_EQ(asked(), first);
}

TEST_F(Permits, BeginsWithAllSlotsThatItHasReleased) {
  // Three permits are held and released; the next acquisitions get the same slots, without a draw.
  std::set<int> slots;
  std::vector<core::ClaimId> leases;
  for (int i = 0; i < 3; ++i) {
    driver.acquire_permit(1, 1000);
    slots.insert(asked());
    driver.answer_all();
    leases.push_back(driver.lease());
  }
  EXPECT_EQ(slots.size(), 3U);
  for (const core::ClaimId lease : leases) driver.release(lease);
  driver.answer_all();
  for (int i = 0; i < 3; ++i) {
    driver.acquire_permit(2, 1000);
    EXPECT_EQ(slots.erase(asked()), 1U) << asked();
    driver.answer_all();
  }
}

TEST_F(Permits, AsksForNoSlotThatThisProcessHasItself) {
  // As many acquisitions as there are permits each ask for a slot of their own, before any answer.
  // When one lease is lost, the next acquisition asks for its slot.
  constexpr int all = 20;
  std::set<int> slots;
  for (int i = 0; i < all; ++i) {
    driver.acquire_permit(1, all);
    slots.insert(asked());
  }
  EXPECT_EQ(slots.size(), static_cast<std::size_t>(all));
  driver.answer_all();
  const core::ClaimId lost = driver.lease();
  const int its_slot = driver.engine().claim(lost)->permit.slot;
  driver.engine().abandon(driver.now, lost);
  driver.acquire_permit(2, all);
  EXPECT_EQ(asked(), its_slot);
}

TEST_F(Permits, IsTakenOutOfTheLineOnceItIsWon) {
  // The next waiter need not wait for the release, since there may be another permit.
  driver.acquire_permit(1, 3, 1h);
  answer({taken(0), taken(0), taken(0)});
  answer_rest();
  for (const int node : {0, 1}) driver.wake(node, 1, 2);
  EXPECT_EQ(asked(), 2);
  driver.forget_seen();
  driver.answer_all();
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 1U);
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).waiter, 0U);
  EXPECT_EQ(sent(CommandKind::release).at(0).slot, 2);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST_F(Permits, TheFirstOfTheLineTriesASlotThatAQuorumHasFree) {
  // If two nodes name different free slots, a try is a guess, made once between two looks.
  driver.acquire_permit(1, 3, 1h);
  answer({taken(0), taken(0), taken(0)});
  answer_rest();
  driver.forget_seen();
  driver.wake(0, 1, 1);
  driver.wake(1, 1, 3);
  EXPECT_EQ(asked(), 1);
  driver.reply(0, Vote::granted);
  driver.reply(1, taken(3));
  driver.reply(2, taken(0));
  driver.forget_seen();
  core::Answer mine{Vote::granted};
  mine.first_in_line = true;
  driver.reply(0, mine);
  driver.wake(0, 1, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.wake(2, 1, 3);
  EXPECT_EQ(asked(), 3);
}

TEST_F(Permits, AMessageThatOvertakesAnOlderAnswerCounts) {
  // The answer to a look from before the release comes after the message.
  driver.acquire_permit(1, 1, 1h);
  answer({taken(0), taken(0), taken(0)});
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
      driver.reply(node, Vote::absent);
    }
  }
  driver.forget_seen();
  driver.wake(0, 1, 1);
  driver.reply(0, {first});
  driver.reply(2, {first});
  driver.wake(1, 1, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
}

TEST_F(Permits, AMessageCastsDoubtOnItsNodesEarlierAnswer) {
  // All nodes have reported both slots as taken. Then one names the first slot as free, another the
  // second: the reports on the other slots are older, so either may be free on a quorum.
  wait_in_the_line(2);
  driver.wake(0, 1, 1);
  EXPECT_EQ(driver.count(CommandKind::acquire), 0U);
  driver.wake(1, 1, 2);
  ASSERT_EQ(driver.count(CommandKind::acquire), 3U);
  EXPECT_EQ(asked(), 1);
}

TEST_F(Permits, GuessesBecomeRarer) {
  // Each guess fails: the next one comes after twice the time, beginning with 1/64 of the time
  // between two looks.
  wait_in_the_line(2);
  core::Duration pause = 0ms;
  for (int guess = 0; guess < 7; ++guess) {
    driver.wake(0, 1, 1);
    driver.wake(1, 1, 2);
    if (pause > 0ms) {
      driver.pass(pause - 1us);
      EXPECT_EQ(driver.count(CommandKind::acquire), 0U) << guess;
      driver.pass(1us);
    }
    EXPECT_EQ(driver.count(CommandKind::acquire), 3U) << guess;
    answer({taken(0), taken(0), taken(0)});
    while (!driver.unanswered(2).empty()) driver.reply(2, Vote::absent);
    driver.forget_seen();
    pause = guess == 0 ? core::Duration(1s) / 64 : 2 * pause;
  }
}

TEST_F(Permits, HandsAReleasedSlotToItsNextWaiter) {
  // A quorum reports no other process before the waiter: release and attempt go out in one write.
  driver.acquire_permit(1, 3);
  driver.answer_all();
  const int slot = asked();
  driver.acquire_permit(2, 3, 1h);
  answer({taken(0), taken(0), taken(0)});
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, {first});
  }
  driver.forget_seen();
  driver.release(driver.lease());
  EXPECT_EQ(sent(CommandKind::release).at(0).not_woken, 1U);
  EXPECT_EQ(asked(), slot);
}

TEST_F(Permits, ALateReleaseInformsTheNextWaiterOfThisProcess) {
  // The nodes had forgotten the script, so the release runs after the attempt that it was to make
  // room for. The client that releases has never been in the line.
  driver.acquire_permit(1, 1, 0s, false);
  driver.answer_all();
  driver.acquire_permit(2, 1, 1h);
  answer({taken(0), taken(0), taken(0)});
  for (const int node : {0, 1, 2}) {
    while (driver.unanswered(node).front().tag.kind == CommandKind::release) {
      driver.reply(node, Vote::absent);
    }
    driver.reply(node, {first});
  }
  driver.release(driver.lease());
  driver.reply({0, 1, 2}, Vote::no_script);
  for (const int node : {0, 1, 2}) driver.reply(node, taken(0));
  driver.forget_seen();
  core::Answer mine{Vote::granted};
  mine.first_in_line = true;
  for (const int node : {0, 1}) driver.reply(node, mine);
  EXPECT_EQ(driver.count(CommandKind::acquire), 3U);
}

TEST_F(Permits, AnotherCapacityIsReported) {
  // A quorum reports another capacity: that is the error, even if the client would wait.
  driver.acquire_permit(1, 3, 1h);
  core::Answer differs{Vote::capacity_differs};
  differs.capacity = 5;
  answer({differs, differs});
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::misconfigured);
  EXPECT_EQ(refused.capacity, 5);
  answer_rest();
  driver.expect_nothing_left();
}

}  // namespace
}  // namespace quorumlock::test
