#include <gtest/gtest.h>

#include <set>
#include <string>

#include <quorumlock/outcome.hpp>

// The names and the descriptions of votes.
namespace quorumlock {
namespace {

TEST(OutcomeVoteNames, AreIdentifiersAndAllDifferent) {
  // The names are for JSON and metrics; sentences use the descriptions.
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(Vote::bad_counter); ++i) {
    const std::string name(to_string(static_cast<Vote>(i)));
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), name.npos) << name;
    EXPECT_NE(name, "unknown");
    EXPECT_NE(describe(static_cast<Vote>(i)), "unknown") << name;
  }
  EXPECT_EQ(to_string(Vote::held), "held");
  EXPECT_EQ(to_string(Vote::timed_out), "timed_out");
  EXPECT_EQ(describe(Vote::held), "held by another");
  EXPECT_EQ(describe(Vote::timed_out), "timed out");
}

TEST(Outcomes, AreASentence) {
  Outcome outcome;
  outcome.quorum = 2;
  outcome.attempts = 4;
  outcome.votes = {{"n1", Vote::granted, ""}, {"n2", Vote::timed_out, ""}, {"n3", Vote::held, ""}};
  EXPECT_EQ(outcome.to_string(),
            "1 granted, 1 held by another, 1 timed out; quorum 2 of 3; attempt 4");
}

}  // namespace
}  // namespace quorumlock
