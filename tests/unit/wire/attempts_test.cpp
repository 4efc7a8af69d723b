#include "wire/attempts.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/seeded_random.hpp"
#include "wire/back_off.hpp"

// When a node is connected to, and which failures are news.
namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;

class AttemptsTest : public ::testing::Test {
 protected:
  /// The pause until the next attempt after one that fails now.
  core::Duration pause() {
    attempts.begin(now);
    attempts.end(now);
    return attempts.deadline() - now;
  }

  SeededRandom random{1};
  redis::Attempts attempts{2s, random};
  core::Time now = core::Time(1h);
};

TEST_F(AttemptsTest, AnAttemptLastsForConnectTimeout) {
  EXPECT_EQ(attempts.deadline(), core::never);
  attempts.begin(now);
  EXPECT_EQ(attempts.deadline(), now + 2s);
  EXPECT_FALSE(attempts.is_overdue(now + 2s - 1ns));
  EXPECT_TRUE(attempts.is_overdue(now + 2s));
  attempts.extend(now + 5s);
  EXPECT_EQ(attempts.deadline(), now + 7s);
  attempts.extend(now);  // never less
  EXPECT_EQ(attempts.deadline(), now + 7s);
  attempts.wait();
  EXPECT_EQ(attempts.deadline(), core::never);
}

TEST_F(AttemptsTest, ThePauseDoublesUpToALimitAndIsRandomInItsUpperHalf) {
  core::Duration longest = redis::first_back_off;
  for (int i = 0; i < 10; ++i) {
    const core::Duration its = pause();
    EXPECT_GE(its, longest / 2) << i;
    EXPECT_LT(its, longest) << i;
    EXPECT_FALSE(attempts.is_due(now + its - 1ns));
    EXPECT_TRUE(attempts.is_due(now + its));
    longest = std::min(2 * longest, redis::longest_back_off);
  }
  EXPECT_TRUE(attempts.is_repeated());
}

TEST_F(AttemptsTest, AConnectionThatLastsBeginsThePausesAgain) {
  for (int i = 0; i < 10; ++i) pause();
  attempts.begin(now);
  attempts.succeed(now);
  EXPECT_EQ(attempts.deadline(), core::never);
  now += redis::longest_back_off;
  attempts.end(now);
  EXPECT_LT(attempts.deadline() - now, redis::first_back_off);
  attempts.forgive();
  EXPECT_FALSE(attempts.is_repeated());
  EXPECT_LT(pause(), redis::first_back_off);
}

TEST_F(AttemptsTest, AConnectionThatEndsAtOnceIsAFailedAttempt) {
  // The server accepts, answers everything, and hangs up: the pauses grow as if it were down.
  int connections = 0;
  for (const core::Time end = now + 1min; now < end; now = attempts.deadline(), ++connections) {
    attempts.begin(now);
    attempts.succeed(now);
    now += 30ms;
    attempts.end(now);
  }
  EXPECT_LT(connections, 100);
  EXPECT_GT(connections, 60);
}

TEST_F(AttemptsTest, TheFirstAttemptIsOverWhenItFailsOrSucceeds) {
  attempts.begin(now);
  EXPECT_TRUE(attempts.is_first());
  attempts.end(now);
  EXPECT_FALSE(attempts.is_first());
  redis::Attempts others{2s, random};
  others.begin(now);
  EXPECT_EQ(others.connections(), 0U);
  others.succeed(now);
  EXPECT_FALSE(others.is_first());
  EXPECT_EQ(others.connections(), 1U);
}

TEST_F(AttemptsTest, TheSameFailureIsNewsOnceAMinute) {
  EXPECT_TRUE(attempts.fail(now, "refused"));
  EXPECT_FALSE(attempts.fail(now + 1min - 1ns, "refused"));
  EXPECT_TRUE(attempts.fail(now + 1min, "refused"));
  EXPECT_TRUE(attempts.fail(now + 1min, "no route"));
  EXPECT_EQ(attempts.failures(), 4);
  attempts.succeed(now);
  EXPECT_EQ(attempts.failures(), 0);
  EXPECT_TRUE(attempts.fail(now + 1min, "no route")) << "the first failure since a connection";
}

TEST_F(AttemptsTest, NothingIsDueAfterTheEnd) {
  pause();
  attempts.stop();
  EXPECT_EQ(attempts.deadline(), core::never);
  EXPECT_FALSE(attempts.is_due(now + 24h));
}

}  // namespace
}  // namespace quorumlock::test
