#include "support/engine_driver.hpp"

// An acquisition with a fencing token: the nodes agree on one number, in one round trip if
// possible.
namespace quorumlock::test {
namespace {

core::Answer granted(std::uint64_t fence) {
  return {Vote::granted, false, fence};
}
core::Answer held(std::uint64_t counter) {
  return {Vote::held, false, counter};
}
/// The fencing token of the lease won last.
std::uint64_t token_of(EngineDriver& driver) {
  const core::Claim* claim = driver.engine().claim(driver.lease());
  return claim == nullptr ? 0 : claim->fencing.number;
}
/// Expects that the only command since the last forget_seen() was this raise.
void expect_raise(const EngineDriver& driver, core::NodeSet to, std::uint64_t fence) {
  const Sent sent = driver.only<Sent>();
  EXPECT_EQ(sent.command.tag.kind, CommandKind::raise);
  EXPECT_EQ(sent.to, to);
  EXPECT_EQ(sent.command.fence, fence);
  EXPECT_EQ(sent.command.token, driver.tokens().back());
}

TEST(EngineFence, TakesOneRoundTripIfAQuorumAgrees) {
  // All nodes are asked at once; no number is known. The second grant of the same number decides.
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
  // The command is SET, without a number, and numbers that differ do not matter.
  EngineDriver driver(3);
  driver.acquire(1, ten_seconds);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::set);
  driver.reply(0, granted(41));
  driver.reply(1, granted(42));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(driver.count(CommandKind::raise), 0U);
  EXPECT_EQ(token_of(driver), 0U);
}

TEST(EngineFence, IsRaisedAtOnceIfTheNodesDisagree) {
  // The second grant shows the difference: the node with the smaller number is raised to the
  // greater, and no other node is. Validity still counts from the first command.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.pass(1s);
  driver.reply(0, granted(41));
  driver.forget_seen();
  driver.reply(1, granted(44));
  expect_raise(driver, core::NodeSet::only(0), 44);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.pass(1s);
  driver.reply(2, granted(41));  // the answer to the acquisition comes too late for n1's old number
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(44));
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token_of(driver), 44U);
  EXPECT_EQ(driver.lease_end(), at(9898ms));
}

TEST(EngineFence, OnlyNodesThatDifferAreRaised) {
  // The third grant disagrees: the two nodes with smaller numbers are raised. The node that has the
  // number and the two that have not answered are left alone.
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
  // raise goes to at least that number.
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

TEST(EngineFence, ALaterTokenExceedsEveryNumberSeenBefore) {
  // The next acquisition of the same key sends the number that was seen; another key's sends none.
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
  // n1's counter has grown to 44 in the meantime, whoever raised it: 44 is not a vote of ours
  // there. Both nodes are raised to 45, including n2, which stood for 44: its old vote is void.
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
  // n1 is late with its raise to 44, n3's grant brings 50, and n2 is raised to that. Then n1
  // acknowledges 44: that is not a vote for 50, whichever other nodes have one.
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
  // While n1 is being raised to 44, n3 grants exactly 44: a quorum agrees, without n1's answer.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.reply(2, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
  EXPECT_EQ(driver.count(CommandKind::release), 0U);
  driver.reply(0, granted(44));  // the answer to the raise
  EXPECT_EQ(driver.count<core::Acquired>(), 1U);
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ANodeThatLostTheKeyIsOut) {
  // n1 answers the raise with "the lock is not yours": its grant is gone, and with n3's refusal the
  // attempt is lost. Every node gets a release.
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
  // n1 has lost the key. Then n3 grants 43 and is raised: n2 and n3 are the quorum.
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

TEST(EngineFence, ANodeThatGrantsDuringARaiseIsRaisedToo) {
  // n1 and n2 have the greater number, and n3 is silent after its grant. n4 and n5 grant later,
  // with a smaller number: each is raised at once, and n5 makes the quorum. Nothing waits for n3.
  EngineDriver driver(EngineDriver::fencing(5));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(50));
  driver.reply(1, granted(50));
  driver.reply(2, granted(41));
  for (const int node : {3, 4}) {
    driver.forget_seen();
    driver.reply(node, granted(41));
    expect_raise(driver, core::NodeSet::only(node), 50);
  }
  driver.reply(4, granted(50));
  EXPECT_EQ(token_of(driver), 50U);
  EXPECT_EQ(driver.unanswered(2).size(), 1U) << "n3 still owes its answer";
}

TEST(EngineFence, ANodeThatGrantsAGreaterNumberDuringARaiseMovesTheOthers) {
  // n2 and n3 are raised to 50, and n3 falls silent. n4 grants 60: with n2's answer a quorum of the
  // nodes has answered everything and does not agree, so n1 and n2 are raised to 60 at once, and n3
  // after its answer. n3's late vote for 50 is not a vote for 60.
  EngineDriver driver(EngineDriver::fencing(5));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(50));
  driver.reply(1, granted(41));
  driver.reply(2, granted(41));
  driver.reply(3, granted(60));
  driver.forget_seen();
  driver.reply(1, granted(50));
  expect_raise(driver, all_of(2), 60);
  driver.forget_seen();
  driver.reply(2, granted(50));
  expect_raise(driver, core::NodeSet::only(2), 60);
  driver.reply(0, granted(60));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(1, granted(60));
  EXPECT_EQ(token_of(driver), 60U);
}

TEST(EngineFence, ARaiseThatIsLateIsNotWaitedFor) {
  // n1's raise is overdue: without n1, and with n3 refusing, there is no quorum. n1's late answer
  // changes nothing; a release follows it.
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
  // The raise is overdue and then done after all, before n3 has answered: won.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.time_out(0);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(0, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ALostRaiseIsNotAVote) {
  // The connection breaks during the raise: n1 is out, and gets the release when it is back.
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
  // The locks were there in time, and the number is decided a nanosecond before the validity ends:
  // won. At its end nothing is won, and everything is released. The order of timer and answer makes
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

TEST(EngineFence, ACounterAtItsEndIsNotAVote) {
  // At 2^53 the servers refuse the acquisition as well as the raise: a node that refuses so has not
  // voted.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted((1ULL << 53) - 1));
  driver.reply(2, held((1ULL << 53) - 1));
  driver.reply(1, granted(41));
  driver.forget_seen();
  driver.reply(1, held((1ULL << 53) - 1));
  expect_raise(driver, all_of(2), 1ULL << 53);
  driver.reply({0, 1}, Vote::failed);
  EXPECT_EQ(driver.only<core::Refused>().tally.vote(0), Vote::failed);
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
}

// Nobody's clock explains this number.
constexpr std::uint64_t made_up = 1'000'000'000'000'000;

TEST(EngineFence, ANumberThatOneNodeMakesUpIsNoVote) {
  // It is not exceeded either: the other nodes decide the token among themselves.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(1, granted(made_up));
  driver.reply(0, granted(41));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  EXPECT_EQ(driver.count(CommandKind::raise), 0U);
  driver.reply(2, granted(41));
  EXPECT_EQ(token_of(driver), 41U);
  EXPECT_EQ(driver.count(CommandKind::raise), 0U);
}

TEST(EngineFence, ANumberThatOneNodeMakesUpAmidARaiseIsNoVote) {
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(41));
  driver.reply(1, granted(44));
  driver.forget_seen();
  driver.reply(0, held(made_up));
  EXPECT_EQ(driver.count(CommandKind::raise), 0U);
  driver.reply(2, granted(44));
  EXPECT_EQ(token_of(driver), 44U);
}

TEST(EngineFence, ABadCounterThatCostsTheQuorumIsNamed) {
  // It is known to be bad once no other node can have one as great.
  EngineDriver driver(EngineDriver::fencing(5));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(made_up));
  driver.reply(1, granted(made_up));
  driver.reply(2, granted(41));
  driver.reply(3, Vote::disconnected);
  EXPECT_EQ(driver.count<core::Refused>(), 0U) << "node 4 may have one as great";
  driver.reply(4, granted(41));
  const core::Refused refused = driver.only<core::Refused>();
  EXPECT_EQ(refused.why, Errc::no_quorum);
  EXPECT_EQ(refused.tally.vote(0), Vote::bad_counter);
  EXPECT_EQ(refused.tally.vote(1), Vote::bad_counter);
}

TEST(EngineFence, ANumberThatEnoughNodesHaveCounts) {
  // Two of three nodes: one of them is right, or no lock would be safe.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(made_up + 7));
  driver.reply(1, granted(made_up));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U) << "one alone has the greater number";
  driver.reply(2, granted(made_up));
  EXPECT_EQ(token_of(driver), made_up);
}

TEST(EngineFence, ADoubtfulVoteAsksForWhatItsRecordSaid) {
  // Node 0 votes while its list is being changed. Its number counts once node 1 has it, too; by
  // then the change has been settled, which the vote was not.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.engine().on_list(0, {.asks = {all_of(3), 3}});
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(made_up));
  driver.engine().on_list(0, {});
  driver.reply(1, granted(made_up));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
  driver.reply(2, granted(made_up));
  EXPECT_EQ(token_of(driver), made_up);
}

TEST(EngineFence, ADoubtfulVoteLastsForAsLongAsItsRecordSaid) {
  EngineDriver driver(EngineDriver::fencing(3));
  driver.engine().on_list(0, {.longest_ttl = 10s - 1ms});
  driver.acquire(1, ten_seconds);
  driver.reply(0, granted(made_up));
  driver.engine().on_list(0, {});
  driver.reply(1, granted(made_up));
  EXPECT_EQ(driver.count<core::Acquired>(), 0U);
}

TEST(EngineFence, ANumberThatTheClocksOfEnoughNodesExplainCounts) {
  // Our own clock stands at zero. The TIME of one node is not enough, since that node may be the
  // one that makes up numbers.
  for (const bool both : {false, true}) {
    EngineDriver driver(EngineDriver::fencing(3));
    driver.acquire(1, ten_seconds);
    driver.reply(0, {Vote::granted, false, made_up, static_cast<std::int64_t>(made_up)});
    driver.reply(1, {Vote::granted, false, 41, both ? static_cast<std::int64_t>(made_up) : 41});
    EXPECT_EQ(driver.count(CommandKind::raise), both ? 1U : 0U);
  }
}

TEST(EngineFence, ARaiseWithoutItsScriptIsSentWhole) {
  // After NOSCRIPT, nothing has run: the raise to the same number is sent again, with the source.
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

TEST(EngineFence, MayBeCancelledDuringTheRaise) {
  // The user does not want the lock any more: every node gets a release, after the raise.
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
  // A node that has lost its counter gets the counter back with the key.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.acquire(1, ten_seconds);
  for (const int node : {0, 1, 2}) driver.reply(node, granted(41));
  driver.forget_seen();
  driver.pass(4s);
  EXPECT_EQ(driver.only<Sent>().command.tag.kind, CommandKind::renew);
  EXPECT_EQ(driver.only<Sent>().command.fence, 41U);
}

TEST(EngineFenceToken, AnExtendByTokenNeedsOneCounter) {
  // An extend by token does not know the old end. If a quorum holds the token with the same
  // counter, nobody else can have had the lock in between. Different counters prove nothing.
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

TEST(EngineFenceToken, TheThirdNodeMayAgreeWithEither) {
  // Two numbers that differ do not decide: n3 has the second one's number.
  EngineDriver driver(EngineDriver::fencing(3));
  driver.extend_token(1, "token", 10s);
  driver.reply(0, granted(41));
  driver.reply(1, granted(42));
  driver.reply(2, granted(42));
  EXPECT_FALSE(driver.only<core::Extended>().why);
}

}  // namespace
}  // namespace quorumlock::test
