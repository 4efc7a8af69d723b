#include "wire/pipeline.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wire/back_off.hpp"

// The unanswered commands of a connection.
namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;
using redis::Pipeline;

core::Tag numbered(std::uint16_t number) {
  core::Tag tag;
  tag.round = number;
  return tag;
}

class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() { pipeline.begin(now); }
  void add(std::uint16_t number, core::Duration after = {}) {
    pipeline.add(now + after, numbered(number));
  }
  std::uint16_t answer(core::Duration after) { return pipeline.answer(now + after).tag.round; }

  Pipeline pipeline{500ms, 2s};
  core::Time now = core::Time(1h);
};

TEST_F(PipelineTest, AnswersComeInTheOrderOfTheCommands) {
  EXPECT_TRUE(pipeline.empty());
  EXPECT_EQ(pipeline.deadline(), core::never);
  add(1);
  add(2, 100ms);
  EXPECT_EQ(pipeline.deadline(), now + 500ms);
  EXPECT_EQ(answer(200ms), 1);
  // The second one's time begins now: before that, the node was busy with the first.
  EXPECT_EQ(pipeline.deadline(), now + 700ms);
  EXPECT_EQ(answer(200ms), 2);
  EXPECT_TRUE(pipeline.empty());
}

TEST_F(PipelineTest, TheNodeIsStalledUntilItHasAnsweredEveryOverdueCommand) {
  add(1);
  add(2, 1ms);
  add(3, 400ms);
  EXPECT_FALSE(pipeline.has_overdue(now + 500ms - 1ns));
  EXPECT_EQ(pipeline.next_overdue(now + 501ms).tag.round, 1);
  EXPECT_EQ(pipeline.next_overdue(now + 501ms).tag.round, 2);
  EXPECT_FALSE(pipeline.has_overdue(now + 501ms));
  answer(600ms);
  EXPECT_TRUE(pipeline.is_stalled());
  answer(600ms);
  EXPECT_FALSE(pipeline.is_stalled());
  EXPECT_EQ(pipeline.deadline(), now + 1100ms);  // the third one's
}

TEST_F(PipelineTest, ANodeThatGoesOnAnsweringIsNeverLate) {
  // A thousand commands are sent at once, and each takes the node less than node_timeout.
  for (int number = 0; number < 1000; ++number) add(1);
  for (core::Duration since = 499ms; !pipeline.empty(); since += 499ms) {
    EXPECT_FALSE(pipeline.has_overdue(now + since));
    answer(since);
  }
}

TEST_F(PipelineTest, FurtherOverdueCommandsAreReportedInBatches) {
  // A node that stops with thousands of commands must not take a timer for each.
  add(1);
  add(2, 1ms);
  pipeline.next_overdue(now + 500ms);
  EXPECT_EQ(pipeline.deadline(), now + 510ms);
}

TEST_F(PipelineTest, ANodeThatAnswersNothingForConnectTimeoutIsDead) {
  add(1);
  add(2);
  pipeline.next_overdue(now + 500ms);
  pipeline.next_overdue(now + 500ms);
  EXPECT_EQ(pipeline.deadline(), now + 2500ms);
  EXPECT_FALSE(pipeline.is_dead(now + 2500ms - 1ns));
  EXPECT_TRUE(pipeline.is_dead(now + 2500ms));
  answer(2400ms);  // progress
  EXPECT_FALSE(pipeline.is_dead(now + 2500ms));
  EXPECT_TRUE(pipeline.is_dead(now + 4400ms));
}

TEST_F(PipelineTest, TheFirstCommandAfterAnIdleTimeIsNoticed) {
  const core::Duration long_idle = redis::idle_may_be_forgotten;
  EXPECT_FALSE(pipeline.follows_idleness());
  add(1, long_idle - 1ns);
  EXPECT_FALSE(pipeline.follows_idleness());
  answer(long_idle);
  add(2, 2 * long_idle);
  EXPECT_TRUE(pipeline.follows_idleness());
}

TEST_F(PipelineTest, TheLinksOwnCommandsDoNotEndAnIdleTime) {
  // A look at a trusted disk every 5 s would otherwise hide that nobody has used the connection.
  const core::Duration long_idle = redis::idle_may_be_forgotten;
  pipeline.add(now + long_idle / 2, numbered(1), true);
  pipeline.answer(now + long_idle / 2);
  pipeline.add(now + long_idle, numbered(2), true);
  EXPECT_TRUE(pipeline.follows_idleness());
  pipeline.answer(now + long_idle);
  add(3, long_idle);
  EXPECT_TRUE(pipeline.follows_idleness());
}

TEST_F(PipelineTest, HeldCommandsKeepTheirAgeAndTheirLateness) {
  pipeline.hold(now, numbered(1), "first");
  pipeline.hold(now + 100ms, numbered(2), "second");
  pipeline.hold(now + 200ms, numbered(3), "third");
  pipeline.next_overdue(now + 500ms);
  const std::vector<Pipeline::HeldBack> held = pipeline.take_held();
  ASSERT_EQ(held.size(), 3U);
  EXPECT_TRUE(pipeline.empty());
  EXPECT_FALSE(pipeline.is_stalled());
  EXPECT_EQ(held[0].bytes, "first");
  EXPECT_TRUE(held[0].late);
  EXPECT_FALSE(held[1].late);
  pipeline.resume(held[0]);  // the second is not sent
  pipeline.resume(held[2]);
  EXPECT_TRUE(pipeline.is_stalled());
  EXPECT_FALSE(pipeline.has_overdue(now + 700ms - 1ns));
  EXPECT_TRUE(pipeline.has_overdue(now + 700ms));
  EXPECT_EQ(answer(600ms), 1);
  EXPECT_FALSE(pipeline.is_stalled());
  EXPECT_EQ(answer(600ms), 3);
  EXPECT_TRUE(pipeline.take_held().empty());
}

TEST_F(PipelineTest, ALostConnectionLeavesItsCommandsToBeDropped) {
  pipeline.add(now, numbered(1), true);
  pipeline.hold(now, numbered(2), "held");
  pipeline.next_overdue(now + 500ms);
  pipeline.end();
  EXPECT_FALSE(pipeline.is_stalled());
  EXPECT_TRUE(pipeline.drop().own);
  EXPECT_FALSE(pipeline.drop().own);
  EXPECT_TRUE(pipeline.empty());
  EXPECT_TRUE(pipeline.take_held().empty());
}

}  // namespace
}  // namespace quorumlock::test
