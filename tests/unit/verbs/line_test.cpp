#include "verbs/line.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

TEST(Line, EntriesOfSeveralWaiters) {
  // The locks are the keys; then come the entries' life and, for each lock, a waiter and its
  // ticket.
  std::string bytes;
  redis::line::append(bytes, {core::NodeSet::first(3),
                              {},
                              "0123456789abcdef",
                              {{"a", 7, 100}, {"b", 8, 101, true}},
                              std::chrono::seconds(3)});
  EXPECT_EQ(bytes, formatted({"EVALSHA", redis::queue_script.sha1, "2", "a", "b", "3000",
                              "w0123456789abcdef.7", "100", "r0123456789abcdef.8", "101"}));
}

TEST(Line, AnEntryShowsTheLabelOfItsProcess) {
  std::string bytes;
  redis::line::append(bytes, {core::NodeSet::first(3),
                              {},
                              "0123456789abcdef",
                              {{"a", 7, 100}},
                              std::chrono::seconds(3),
                              "web-3:812"});
  EXPECT_EQ(bytes, formatted({"EVALSHA", redis::queue_script.sha1, "1", "a", "3000",
                              "w0123456789abcdef.7@web-3:812", "100"}));
}

}  // namespace
}  // namespace quorumlock::test
