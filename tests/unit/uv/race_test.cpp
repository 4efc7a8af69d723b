#include "uv/race.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Which address is connected to, and when.
namespace quorumlock::uv {
namespace {

using namespace std::chrono_literals;

class Races : public ::testing::Test {
 protected:
  static Address at(const std::string& text) { return Address::parse(text).value(); }
  void offer(const std::vector<std::string>& texts) {
    std::vector<Address> addresses;
    for (const std::string& text : texts) addresses.push_back(at(text));
    race.offer(addresses);
  }
  /// The addresses that are begun now.
  std::string begun() {
    std::string all;
    while (const auto address = race.next(now)) all += (all.empty() ? "" : " ") + address->text();
    return all;
  }
  void fail(const std::string& text) { race.failed(now, at(text), "Connection refused"); }

  Race race{2s};
  Clock::time_point now{1h};
};

TEST_F(Races, TheNextAddressFollowsAQuarterOfASecondLater) {
  // The first address drops everything: the second one is begun meanwhile, and both may win.
  offer({"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  race.complete();
  EXPECT_EQ(begun(), "10.0.0.1");
  EXPECT_EQ(race.deadline(), now + 250ms);
  now += 250ms - 1ns;
  EXPECT_EQ(begun(), "");
  now += 1ns;
  EXPECT_EQ(begun(), "10.0.0.2");
  EXPECT_EQ(race.deadline(), now + 250ms);
  EXPECT_EQ(race.awaited(), "10.0.0.1 or 10.0.0.2");
  now += 250ms;
  EXPECT_EQ(begun(), "10.0.0.3");
  EXPECT_EQ(race.deadline(), Clock::time_point::max());
  EXPECT_FALSE(race.is_lost(now + 1h));
}

TEST_F(Races, TheNextAddressFollowsARefusalAtOnce) {
  offer({"10.0.0.1", "10.0.0.2"});
  race.complete();
  EXPECT_EQ(begun(), "10.0.0.1");
  fail("10.0.0.1");
  EXPECT_EQ(begun(), "10.0.0.2");
  EXPECT_FALSE(race.is_lost(now));
  fail("10.0.0.2");
  EXPECT_TRUE(race.is_lost(now));
  EXPECT_EQ(race.why(true), "10.0.0.1: Connection refused; 10.0.0.2: Connection refused");
  EXPECT_EQ(race.why(false), "Connection refused");
}

TEST_F(Races, FamiliesTakeTurns) {
  offer({"::1", "::2", "::3", "10.0.0.1", "10.0.0.2"});
  for (const char* next : {"::1", "10.0.0.1", "::2", "10.0.0.2", "::3", ""}) {
    EXPECT_EQ(begun(), next);
    now += 250ms;
  }
}

TEST_F(Races, EveryAddressGetsItsTurnWithinTheTimeThatThereIs) {
  // connect_timeout is short, or there are many addresses.
  Race hurried(100ms);
  const std::vector<Address> addresses = {at("10.0.0.1"), at("10.0.0.2"), at("10.0.0.3")};
  hurried.offer(addresses);
  EXPECT_TRUE(hurried.next(now));
  EXPECT_EQ(hurried.deadline(), now + 25ms);
}

TEST_F(Races, AddressesThatComeLaterAreTriedToo) {
  // The address that worked last has gone; the resolver's answer comes while it is tried.
  offer({"10.0.0.1"});
  EXPECT_EQ(begun(), "10.0.0.1");
  EXPECT_EQ(race.deadline(), Clock::time_point::max());
  race.withdraw(at("10.0.0.1"));
  offer({"10.0.0.2", "10.0.0.2"});
  race.complete();
  EXPECT_EQ(begun(), "10.0.0.2");
  fail("10.0.0.1");  // the kernel's word about it comes too late
  fail("10.0.0.2");
  EXPECT_TRUE(race.is_lost(now));
  EXPECT_EQ(race.why(true), "10.0.0.2: Connection refused");
}

TEST_F(Races, ASilentResolverDelaysAFailureOnlyForAMoment) {
  // The address that worked refuses us, and the resolver says nothing.
  offer({"10.0.0.1"});
  EXPECT_EQ(begun(), "10.0.0.1");
  fail("10.0.0.1");
  EXPECT_FALSE(race.is_lost(now));
  EXPECT_EQ(race.deadline(), now + 250ms);
  EXPECT_EQ(race.awaited(), "the name servers, which are asked for its address");
  now += 250ms;
  EXPECT_TRUE(race.is_lost(now));
}

TEST_F(Races, WithoutAnAddressItWaitsForTheResolver) {
  EXPECT_EQ(begun(), "");
  EXPECT_FALSE(race.is_lost(now + 1h));
  EXPECT_EQ(race.deadline(), Clock::time_point::max());
  race.complete("cannot resolve the name: Domain name not found");
  EXPECT_TRUE(race.is_lost(now));
  EXPECT_EQ(race.why(true), "cannot resolve the name: Domain name not found");
}

TEST_F(Races, ANameWithManyAddressesHasAShortSentence) {
  std::vector<std::string> many;
  for (int i = 1; i <= 9; ++i) many.push_back("10.0.0." + std::to_string(i));
  offer(many);
  race.complete();
  for (const std::string& next : many) {
    EXPECT_EQ(begun(), next);
    fail(next);
  }
  EXPECT_TRUE(race.why(true).ends_with("10.0.0.4: Connection refused; and 5 more addresses"));
}

}  // namespace
}  // namespace quorumlock::uv
