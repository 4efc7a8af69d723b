#include <quorumlock/event.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quorumlock::test {
namespace {

TEST(Event, EveryKindAndLevelHasANameOfItsOwn) {
  // The names are those of the enumerators, which logs and alerts are matched by.
  std::set<std::string_view> names;
  const int last = static_cast<int>(EventKind::own_clock_stood);
  for (int kind = 0; kind <= last; ++kind) names.insert(to_string(static_cast<EventKind>(kind)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(to_string(EventKind::lease_lost), "lease_lost");
  EXPECT_EQ(to_string(EventLevel::info), "info");
  EXPECT_EQ(to_string(EventLevel::warning), "warning");
  EXPECT_EQ(to_string(EventLevel::error), "error");
}

}  // namespace
}  // namespace quorumlock::test
