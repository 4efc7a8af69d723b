#include "members/timed_wait.hpp"

#include <gtest/gtest.h>

// The wait of a node that forgot, by the clocks of nodes.
namespace quorumlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000;

/// A candidate that began at second 100 of its node, and names these TIMEs.
EnrolmentCandidate began(NodeTimes times = {}, const std::string& nonce = "a") {
  EnrolmentCandidate candidate;
  candidate.record.nonce = nonce;
  candidate.begun = 100 * second;
  candidate.times = std::move(times);
  return candidate;
}

TEST(TimedWait, EndsByItsOwnClockAndThoseOfEnoughOthers) {
  // In a list of five nodes, three others are needed. Their clocks need not agree.
  TimedWait wait;
  const NodeTimes times{{"b", 7 * second}, {"c", 70 * second}, {"d", 700 * second}};
  wait.looked(began(times), 110 * second);
  EXPECT_FALSE(wait.is_over(5, 10s));
  wait.heard("a", "b", 17 * second);
  wait.heard("a", "c", 80 * second);
  EXPECT_FALSE(wait.is_over(5, 10s));
  wait.heard("a", "d", 710 * second - 1);
  EXPECT_FALSE(wait.is_over(5, 10s));
  wait.heard("a", "d", 710 * second);
  EXPECT_TRUE(wait.is_over(5, 10s));
  EXPECT_FALSE(wait.is_over(5, 11s));
  wait.looked(began(times), 110 * second - 1);
  EXPECT_FALSE(wait.is_over(5, 10s)) << "its own clock counts, too";
}

TEST(TimedWait, ANodeThatIsAloneHasItsOwnClock) {
  TimedWait wait;
  wait.looked(began(), 109 * second);
  EXPECT_FALSE(wait.is_over(1, 10s));
  wait.looked(began(), 110 * second);
  EXPECT_TRUE(wait.is_over(1, 10s));
  EXPECT_FALSE(wait.is_over(2, 10s));
}

TEST(TimedWait, NamesWhatItHeardAfterTheCandidateWasSeen) {
  TimedWait wait;
  wait.looked(began({{"b", 5 * second}}), 100 * second);
  wait.heard("a", "b", 6 * second);
  EXPECT_FALSE(wait.to_name());
  wait.heard("another", "c", 1);
  EXPECT_FALSE(wait.to_name()) << "it was read for another candidate";
  wait.heard("a", "c", 70 * second);
  wait.heard("a", "c", 71 * second);
  EXPECT_EQ(wait.to_name(), (NodeTimes{{"b", 5 * second}, {"c", 70 * second}}));
  wait.looked(began({}, "next"), 100 * second);
  EXPECT_FALSE(wait.to_name()) << "these TIMEs were read before the next candidate was seen";
}

TEST(TimedWait, ATimeInTheFutureIsReadAgain) {
  // b's clock was set back.
  TimedWait wait;
  wait.looked(began({{"b", 500 * second}}), 200 * second);
  wait.heard("a", "b", 90 * second);
  EXPECT_FALSE(wait.is_over(2, 10s));
  EXPECT_EQ(wait.to_name(), (NodeTimes{{"b", 90 * second}}));
}

TEST(TimedWait, ACandidateIsReadAsItIsWritten) {
  const std::string record = "run:abc@#00000000000000a1.0s.0000000000000b2c";
  for (const char* rest : {";17", ":60000;17,/a;b=c=9,n1:6379=18", ";17,n2=3"}) {
    const std::string text = record + rest;
    const auto candidate = EnrolmentCandidate::parse(text);
    ASSERT_TRUE(candidate) << text;
    EXPECT_EQ(candidate->to_string(), text);
  }
  for (const char* rest : {"", ";", ";x", ";17,", ";17,n2"}) {
    EXPECT_FALSE(EnrolmentCandidate::parse(record + rest)) << rest;
  }
}

}  // namespace
}  // namespace quorumlock::redis
