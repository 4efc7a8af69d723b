#include "lock/placement.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// Which group and which loop a resource belongs to (docs/scaling.md). All processes and all
// versions must agree on the numbers in these tests.
namespace quorumlock::core {
namespace {

constexpr int many = 60000;

std::string seat(int number) {
  return "seat/" + std::to_string(number);
}

std::string group_of(const std::vector<std::string>& groups, const std::string& resource) {
  return groups[Placement(groups, 1, "").of(resource).group];
}

TEST(Placement, MatchesTheTestVectorsOfTheDocs) {
  // The numbers come from a program in another language, written from the description alone.
  EXPECT_EQ(Placement::hash(""), 0xcbf29ce484222325U);
  EXPECT_EQ(Placement::hash("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(Placement::hash("orders:42"), 0x4bfe1af6adb6ae50U);
  EXPECT_EQ(Placement::hash("user:7"), 0xf7fda0aa7508271dU);
  EXPECT_EQ(Placement::hash("{}:x"), 0x5c7cc75b0f7befefU);
  EXPECT_EQ(Placement::weight(Placement::hash("north"), Placement::hash("orders:42")),
            0xcb700f8e2c8cf158U);
  EXPECT_EQ(Placement::weight(Placement::hash("south"), Placement::hash("orders:42")),
            0x5295daa3a814fe3aU);
  EXPECT_EQ(Placement::weight(Placement::hash("west"), Placement::hash("orders:42")),
            0x8253aeb6ef851490U);
  const std::map<std::string, std::string> of_three = {
      {"orders:42", "north"}, {"{user:7}:cart", "north"}, {"seat/1", "west"},
      {"seat/3", "south"},    {"seat/5", "north"},        {"seat/6", "south"}};
  for (const auto& [resource, group] : of_three) {
    EXPECT_EQ(group_of({"north", "south", "west"}, resource), group) << resource;
  }
  EXPECT_EQ(Placement::mark({"north", "south"}, "north"), "89724ff9dd739524");
  EXPECT_EQ(Placement::mark({"south", "north"}, "south"), "dfcde0e221b25a22");
  EXPECT_EQ(Placement::mark({"north"}, "north"), "");
}

TEST(Placement, OnlyTheTagCounts) {
  // The tag is the text between the first '{' and the first '}' after it, if it is not empty; the
  // prefix is part of the key, wherever it ends.
  const auto of = [](const char* prefix, const char* rest) {
    return Placement::key_hash(prefix, rest);
  };
  const auto whole = [](const char* text) { return Placement::hash(text); };
  EXPECT_EQ(of("", "{user:7}:cart"), whole("user:7"));
  EXPECT_EQ(of("", "a{user:7}b{other}"), whole("user:7"));
  EXPECT_EQ(of("", "{}{user:7}"), whole("{}{user:7}"));
  EXPECT_EQ(of("", "{{user:7}}"), whole("{user:7"));
  EXPECT_EQ(of("", "}{user:7"), whole("}{user:7"));
  EXPECT_EQ(of("", "user:7}"), whole("user:7}"));
  EXPECT_EQ(of("", ""), whole(""));
  EXPECT_EQ(of("app:", "orders"), whole("app:orders"));
  EXPECT_EQ(of("app:", "{orders}:1"), whole("orders"));
  EXPECT_EQ(of("{app}:", "{orders}:1"), whole("app"));
  EXPECT_EQ(of("{app", ":x}orders"), whole("app:x"));
  EXPECT_EQ(of("{", "}"), whole("{}"));
}

TEST(Placement, IsEvenAndTheSameInWhateverOrderGroupsAreNamed) {
  // Each group has a third of the resources, to a few hundredths; the groups' order is ignored.
  const std::vector<std::string> groups = {"a", "b", "c"};
  std::map<std::string, int> count;
  for (int i = 0; i < many; ++i) {
    const std::string group = group_of(groups, seat(i));
    ++count[group];
    ASSERT_EQ(group_of({"c", "a", "b"}, seat(i)), group);
  }
  for (const std::string& group : groups) EXPECT_NEAR(count[group], many / 3, many / 100) << group;
}

TEST(Placement, AnAdditionalGroupTakesItsShareFromAllAndMovesNothingElse) {
  // A resource that moves goes to the new group: about a quarter of each of the three.
  std::map<std::string, int> moved;
  for (int i = 0; i < many; ++i) {
    const std::string before = group_of({"a", "b", "c"}, seat(i));
    const std::string after = group_of({"a", "b", "c", "d"}, seat(i));
    if (before == after) continue;
    ASSERT_EQ(after, "d");
    ++moved[before];
  }
  EXPECT_EQ(moved.size(), 3U);
  for (const auto& [group, count] : moved) EXPECT_NEAR(count, many / 12, many / 200) << group;
}

TEST(Placement, LoopsAreEvenInEachGroup) {
  // Groups and loops are independent of each other, and a tag keeps resources together in both.
  const Placement placement({"a", "b"}, 3, "locks:");
  std::map<std::pair<std::size_t, std::size_t>, int> count;
  for (int i = 0; i < many; ++i) {
    const Placement::Home place = placement.of(seat(i));
    ASSERT_LT(place.loop, 3U);
    ++count[{place.group, place.loop}];
    ASSERT_EQ(placement.of("{" + seat(i) + "}:x"), placement.of("{" + seat(i) + "}:y"));
  }
  EXPECT_EQ(count.size(), 6U);
  for (const auto& [place, here] : count) EXPECT_NEAR(here, many / 6, many / 100);
}

TEST(Placement, AnOnlyGroupAndAnOnlyLoopHaveEveryLock) {
  EXPECT_EQ(Placement({""}, 1, "").of("orders:42"), (Placement::Home{0, 0}));
  EXPECT_EQ(Placement({"north"}, 1, "").of("orders:42"), (Placement::Home{0, 0}));
  EXPECT_EQ(Placement({"north"}, 4, "").of("orders:42").group, 0U);
}

TEST(Placement, AMarkDependsOnTheGroupsAndTheNodesOwn) {
  // A mark depends on all groups' names, whatever their order, and on the node's own group.
  const std::vector<std::string> marks = {
      Placement::mark({"a", "b"}, "a"),      Placement::mark({"a", "b"}, "b"),
      Placement::mark({"a", "b", "c"}, "a"), Placement::mark({"a", "c"}, "a"),
      Placement::mark({"a", "b", "c"}, "b"), Placement::mark({"ab", "c"}, "c")};
  for (const std::string& mark : marks) {
    EXPECT_EQ(mark.size(), 16U);
    EXPECT_EQ(std::ranges::count(marks, mark), 1) << mark;
  }
  EXPECT_EQ(Placement::mark({"b", "a"}, "a"), marks[0]);
}

}  // namespace
}  // namespace quorumlock::core
