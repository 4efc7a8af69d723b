#include "support/engine_driver.hpp"

// An acquisition with a fencing token: agreeing on one number, in one round trip where that is
// possible.
namespace quorumlock::test {
namespace {

core::Answer granted(std::uint64_t fence) {
  return {Vote::granted, false, fence};
}
core::Answer held(std::uint64_t counter) {
  return {Vote::held, false, counter};
}
/// Of the lease won last.
std::uint64_t token_of(EngineDriver& driver) {
  const core::Claim* claim = driver.engine().claim(driver.lease());
  return claim == nullptr ? 0 : claim->fence;
}
/// The only command since the last forget_seen() was this raise.
void expect_raise(const EngineDriver& driver, core::NodeSet to, std::uint64_t fence) {
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.command.tag.kind, CommandKind::raise);
  EXPECT_EQ(sent.to, to);
  EXPECT_EQ(sent.command.fence, fence);
  EXPECT_EQ(sent.command.token, driver.tokens().back());
}

TEST(EngineFence, OneRoundTripWhereAQuorumAgrees) {
  // All are asked at once, knowing of no number yet. The second grant of the same one decides.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.to, all_of(3));
  EXPECT_EQ(sent.command.tag.kind, CommandKind::acquire);
  EXPECT_EQ(sent.command.fence, 0U);
  driver.reply(2, granted(41));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(41));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token_of(driver), 41U);
  EXPECT_EQ(driver.lease_end(), at(9898ms));
  driver.reply(1, granted(57));
  EXPECT_EQ(token_of(driver), 41U) << "a late grant changes nothing";
  EXPECT_EQ(driver.count<Sent>(), 1U);
}

TEST(EngineFence, WithoutFencingNothingIsRaised) {
  // SET, no number, and numbers that differ are nobody's concern.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::set);
  driver.reply(0, granted(41));
  driver.reply(1, granted(42));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(driver.count(CommandKind::raise), 0U);
  EXPECT_EQ(token_of(driver), 0U);
}

TEST(EngineFence, IsRaisedAtOnceWhereTheyDisagree) {
  // With the second grant it is clear: the smaller one is raised to the greater, there and nowhere
  // else. Validity still counts from the first command.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.pass(1s);
  driver.reply(0, granted(41));
  driver.forget_seen();
  driver.reply(1, granted(44));
  expect_raise(driver, core::NodeSet::only(0), 44);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.pass(1s);
  driver.reply(2, granted(41));  // to the acquisition; for n1's old number it comes too late
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token_of(driver), 44U);
  EXPECT_EQ(driver.lease_end(), at(9898ms));
}

TEST(EngineFence, OfFiveOnlyThoseThatDifferAreRaised) {
  // The third grant disagrees: the two that stand for less are raised, the one that has the number
  // and the two that have not answered are left alone.
  EngineDriver driver(EngineDriver::fencing(5));
  driver.acquire(1, ten_seconds);
  driver.reply(4, granted(41));
  driver.reply(1, granted(50));
  driver.forget_seen();
  driver.reply(0, granted(43));
  core::NodeSet smaller = core::NodeSet::only(4);
  smaller.add(0);
  expect_raise(driver, smaller, 50);
  driver.reply(4, granted(50));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(50));
  EXPECT_EQ(token_of(driver), 50U);
}

TEST(EngineFence, EveryNumberThatWasSeenIsExceeded) {
  // n1 refuses, with a counter above the others': another holder's number may be as great, so the
  // raise goes to at least that.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, held(60));
  driver.reply(1, granted(41));
  driver.forget_seen();
  driver.reply(2, granted(42));
  core::NodeSet both = core::NodeSet::only(1);
  both.add(2);
  expect_raise(driver, both, 60);
}

TEST(EngineFence, ALaterTokenExceedsWhatWasSeenBefore) {
  // The next acquisition of the same key says which number it has seen; of another key, none.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(41));
  driver.reply(2, granted(70));
  driver.release(driver.lease());
  driver.answer_all();
  driver.forget_seen();
  driver.acquire(2, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().command.fence, 70U);
  driver.forget_seen();
  driver.acquire(3, ten_seconds, 0s, "another");
  EXPECT_EQ(driver.only<Sent>().command.fence, 0U);
}

TEST(EngineFence, ACounterAsHighAlreadyNeedsAGreaterNumber) {
  // n1's counter has grown to 44 meanwhile, by whomever: 44 is no vote of ours there. Everybody is
  // raised to 45, also n2, which stood for 44: its old vote is void.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.forget_seen();
  driver.reply(0, held(44));
  expect_raise(driver, all_of(2), 45);
  driver.forget_seen();
  driver.reply(2, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U) << "44 twice, but it is 45 that counts now";
  driver.reply(0, granted(45));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(1, granted(45));
  EXPECT_EQ(token_of(driver), 45U);
}

TEST(EngineFence, AnAcknowledgementOfAnOlderNumberIsVoid) {
  // n1 is late with its raise to 44, n3's grant brings 50, n3 and n2 are raised to that. Then n1
  // acknowledges 44: that is no vote for 50, whoever else has one.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.time_out(0);
  driver.forget_seen();
  driver.reply(2, granted(50));
  expect_raise(driver, core::NodeSet::only(1), 50);
  driver.forget_seen();
  driver.reply(0, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(1, granted(50));
  EXPECT_EQ(token_of(driver), 50U);
}

TEST(EngineFence, ALateGrantOfTheNumberCounts) {
  // While n1 is being raised to 44, n3 grants exactly that: a quorum, no need to wait.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(2, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
  driver.reply(0, granted(44));  // to the raise
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ANodeThatLostTheKeyIsOut) {
  // n1 answers the raise with "the lock is not yours": its grant is gone, and with n3's refusal so
  // is the attempt. Released everywhere.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(0, {Vote::absent, false, 41});
  EXPECT_EQ(driver.count<core::Refused>(), 0U) << "n3 may still grant";
  driver.reply(2, held(0));
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineFence, AnotherNodeTakesThePlaceOfOneThatIsOut) {
  // n1 has lost the key. n3 grants 43 then, and is raised: n2 and n3 are the quorum.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(0, {Vote::absent, false, 41});
  driver.forget_seen();
  driver.reply(2, granted(43));
  expect_raise(driver, core::NodeSet::only(2), 44);
  driver.reply(2, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ARaiseThatIsLateIsNotWaitedFor) {
  // n1's raise is overdue: without it and with n3 refusing there is no quorum. That its answer
  // comes in after all changes nothing; a release is behind it.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(2, held(0));
  driver.time_out(0);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  EXPECT_EQ(driver.only<core::Refused>().tally.vote(0), Vote::timed_out);
  driver.reply(0, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineFence, ALateRaiseStillCounts) {
  // Overdue, and then done after all, while n3 has not answered: won.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.time_out(0);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ARaiseThatIsLostIsNoVote) {
  // The connection breaks under the raise: n1 is out, and is told of the release when it is back.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(2, held(0));
  driver.lose(0);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::contended);
  driver.forget_seen();
  driver.link(0, LinkState::up, Vote::pending);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), core::NodeSet::only(0));
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineFence, TheDeadlineCountsAfterTheRaise) {
  // The locks were there in time, the number is decided a nanosecond before the validity ends: won.
  // At its end: no win, and everything is released. Whether the timer or the answer is first makes
  // no difference.
  for (const core::Duration early : {1ns, 0ns, -1000000ns}) {
    for (const bool timer_first : {false, true}) {
      EngineDriver driver(EngineDriver::fencing(3));
      driver.acquire(1, ten_seconds);
      driver.reply(0, granted(41));
      driver.reply(1, granted(44));
      const core::Time then = at(9898ms - early);
      if (timer_first) driver.pass_until(then);
      driver.now = then;
      driver.reply(0, granted(44));
      EXPECT_EQ(driver.count<core::Acquired>(), early > 0ns ? 1U : 0U);
      EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]),
                early > 0ns ? core::NodeSet() : all_of(3));
      driver.reply(2, held(0));
      EXPECT_EQ(driver.count<core::Refused>(), early > 0ns ? 0U : 1U);
    }
  }
}

TEST(EngineFence, ACounterAtItsEndIsNoVote) {
  // At 2^53 the servers refuse, the acquisition as well as the raise: whoever says so has not
  // voted.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted((1ULL << 53) - 1));
  driver.reply(1, granted(41));
  driver.forget_seen();
  driver.reply(1, held((1ULL << 53) - 1));
  expect_raise(driver, all_of(2), 1ULL << 53);
  driver.reply({0, 1}, Vote::failed);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::no_quorum);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
}

TEST(EngineFence, ARaiseWithoutItsScriptIsSentWhole) {
  // NOSCRIPT: nothing has run. Once more, with the source, to the same number.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.forget_seen();
  driver.reply(0, Vote::no_script);
  expect_raise(driver, core::NodeSet::only(0), 44);
  EXPECT_TRUE(driver.only<Sent>().command.tag.with_source);
  driver.reply(0, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, CancelledDuringTheRaise) {
  // Nobody wants it any more: released everywhere, behind the raise.
  EngineDriver driver(EngineDriver::fencing(3));
  const core::WaiterId waiter = driver.acquire(1, ten_seconds, 1min);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.cancel(waiter);
  EXPECT_EQ(driver.only<core::Refused>().why, Errc::cancelled);
  EXPECT_EQ(driver.told(CommandKind::release, driver.tokens()[0]), all_of(3));
  driver.reply(0, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.answer_all();
  driver.expect_nothing_left();
}

TEST(EngineFence, TheTokenGoesWithEveryRenewal) {
  // A node that has lost its counter gets it back with the key.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  for (const int node : {0, 1, 2}) driver.reply(node, granted(41));
  driver.forget_seen();
  driver.pass(4s);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::renew);
  EXPECT_EQ(driver.only<Sent>().command.fence, 41U);
}

TEST(EngineFenceToken, AnExtendByTokenNeedsOneCounter) {
  // Who extends by token does not know the old end. A quorum holds the token and has one and the
  // same counter: nobody else can have had it in between. Different counters prove nothing.
  for (const bool alike : {true, false}) {
    EngineDriver driver(EngineDriver::fencing(3));
    driver.extend_token(1, "token", 10s);
    driver.reply(0, granted(41));
    driver.reply(1, granted(alike ? 41 : 42));
    EXPECT_EQ(driver.count<core::Extended>(), alike ? 1U : 0U) << "n3 may agree with either";
    driver.reply(2, granted(43));
    const core::Extended extended = driver.only<core::Extended>();
    EXPECT_EQ(extended.why, alike ? std::nullopt : std::optional(Errc::not_held));
    driver.expect_nothing_left();
  }
}

TEST(EngineFenceToken, TheThirdMayAgreeWithEither) {
  // Two that differ are not the end of it: n3 has the second one's number.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.extend_token(1, "token", 10s);
  driver.reply(0, granted(41));
  driver.reply(1, granted(42));
  driver.reply(2, granted(42));
  EXPECT_FALSE(driver.only<core::Extended>().why);
}

}  // namespace
}  // namespace quorumlock::test
