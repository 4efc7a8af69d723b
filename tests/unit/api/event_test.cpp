#include <quorumlock/event.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quorumlock::test {
namespace {

TEST(Event, EveryKindAndLevelHasANameOfItsOwn) {
  // The names are those of the enumerators, which logs and alerts are matched by.
  std::set<std::string_view> names;
  const int last = static_cast<int>(EventKind::callback_failed);
  for (int kind = 0; kind <= last; ++kind) names.insert(to_string(static_cast<EventKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(EventKind::lease_lost), "lease_lost");
  EXPECT_EQ(to_string(EventLevel::info), "info");
  EXPECT_EQ(to_string(EventLevel::warning), "warning");
  EXPECT_EQ(to_string(EventLevel::error), "error");
}

TEST(Event, IsOneSentence) {
  // What it is about comes first, then what has happened to it, the reason, and what was left out.
  EXPECT_EQ(to_string(Event{.kind = EventKind::node_down,
                            .node = "redis://n1:6379",
                            .reason = "Connection refused (7 attempts so far)"}),
            "redis://n1:6379 is down: Connection refused (7 attempts so far)");
  EXPECT_EQ(
      to_string(Event{.kind = EventKind::lease_lost,
                      .resource = "orders:42, orders:43",
                      .holder = "web-3:812",
                      .reason = "too few nodes renewed it in time",
                      .left_out = 3}),
      "\"orders:42, orders:43\" is lost: too few nodes renewed it in time (3 events like this "
      "were left out before it)");
  EXPECT_EQ(to_string(Event{.kind = EventKind::list_changed, .reason = "the nodes are now a, b"}),
            "the nodes are now a, b");
}

TEST(Event, EveryKindOfANodeOrALockHasItsWords) {
  std::set<std::string> sentences;
  const int last = static_cast<int>(EventKind::node_clock_jumped);
  for (int kind = 0; kind <= last; ++kind) {
    const std::string sentence =
        to_string(Event{.kind = static_cast<EventKind>(kind), .node = "n1", .reason = "why"});
    EXPECT_TRUE(sentence.ends_with(": why")) << sentence;
    sentences.insert(sentence);
  }
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(last) + 1);
}

TEST(Event, ItsSentenceHasNoControlCharacters) {
  EXPECT_EQ(
      to_string(Event{.kind = EventKind::lease_lost, .resource = "a\nb", .reason = "\x1b[31m"}),
      "\"a\\u000ab\" is lost: \\u001b[31m");
}

}  // namespace
}  // namespace quorumlock::test
