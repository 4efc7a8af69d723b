#include "table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quorumlock::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string chinese = "\xe8\xae\xa2\xe5\x8d\x95";  // two letters, each of two columns
const std::string accent = "e\xcc\x81";                  // one letter, and an accent that joins it

/// The widest line of a text.
std::size_t widest(std::string text) {
  std::size_t most = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    most = std::max(most, width_of(text.substr(0, end)));
    text.erase(0, end == text.npos ? end : end + 1);
  }
  return most;
}

Table table_of(const std::string& name, bool quiet = true) {
  Table table(
      {{.heading = "NAME", .is_name = true}, {"STATE"}, {"ROLE", quiet}, {"VERSION", quiet}});
  table.add({name, "up", "master", "7.0.15"});
  table.add({"other", "down", "-", "-"}, "unreachable: Connection refused, on a way that is long");
  return table;
}

TEST(Table, WidthsAreThoseOfWhatIsShown) {
  EXPECT_EQ(width_of("abc"), 3U);
  EXPECT_EQ(width_of(chinese), 4U);
  EXPECT_EQ(width_of(accent), 1U);
  EXPECT_EQ(padded(chinese, 6), chinese + "  ");
}

TEST(Table, WithoutALimitAllColumnsAreShownWhole) {
  const std::string text = table_of(std::string(100, 'n')).text(unlimited);
  EXPECT_THAT(text, HasSubstr("\n" + std::string(100, 'n') + "  up     master  7.0.15\n"));
  EXPECT_THAT(text, HasSubstr("\nother" + std::string(97, ' ') + "down   -       -\n    unreach"));
}

TEST(Table, WhatSaysNothingUnusualIsLeftOutAndNamed) {
  EXPECT_EQ(table_of("web").text(24),
            "NAME   STATE  ROLE\n"
            "web    up     master\n"
            "other  down   -\n"
            "    unreachable:\n"
            "        Connection\n"
            "        refused, on a\n"
            "        way that is long\n"
            "nothing unusual, see\n"
            "    --wide: VERSION\n");
  EXPECT_THAT(table_of("web", false).text(24), HasSubstr("VERSION\n"));
}

TEST(Table, ALineOfAListGoesOnBelowItsText) {
  EXPECT_EQ(wrapped("  --wide    all columns and names", 24),
            "  --wide    all columns\n"
            "            and names");
  EXPECT_EQ(wrapped("all  columns and names", 16),
            "all  columns and\n"
            "    names");
  EXPECT_EQ(wrapped("all columns and names", 12, 0),
            "all columns\n"
            "and names");
}

TEST(Table, LongNamesAreCutInTheMiddle) {
  const std::string text = table_of("tenants/eu/" + std::string(200, 'x') + "/42").text(40);
  EXPECT_THAT(text, HasSubstr("\ntenants/eu/xxxx...xxxxxxxxxxxx/42  up\n"));
  EXPECT_EQ(widest(text), 40U);
}

TEST(Table, WhatIsLessImportantThanNamesIsLeftOutBeforeTheyAreCut) {
  Table table({{.heading = "NAME", .is_name = true},
               {"ROLE", true},
               {.heading = "NEXT", .is_extra = true},
               {"STATE"}});
  table.add({"name-of-a-node", "master", "another-one", "up"});
  EXPECT_EQ(table.text(34),
            "NAME            NEXT         STATE\n"
            "name-of-a-node  another-one  up\n"
            "nothing unusual, see --wide: ROLE\n");
  EXPECT_EQ(table.text(33),
            "NAME            STATE\n"
            "name-of-a-node  up\n"
            "no room, see --wide: NEXT\n"
            "nothing unusual, see --wide: ROLE\n");
}

TEST(Table, ACutNameNeverBreaksALetter) {
  std::string name;
  for (int i = 0; i < 20; ++i) name += chinese + accent;
  for (std::size_t width = 1; width < 60; ++width) {
    const std::string cut = cut_in_the_middle(name, width);
    EXPECT_LE(width_of(cut), width);
    EXPECT_GE(width_of(cut) + 2, width);
    const std::size_t dots = cut.find("...");
    if (dots == cut.npos || dots + 3 == cut.size()) continue;
    EXPECT_NE(cut[dots + 3], '\xcc') << "an accent without its letter: " << cut;
  }
}

TEST(Table, LinesAreBrokenBetweenWords) {
  EXPECT_EQ(wrapped("one two three four\n  five six seven", 9),
            "one two\n    three\n    four\n  five\n    six\n    seven");
  EXPECT_EQ(wrapped(std::string(20, 'a'), 8), "aaaaaaaa\n    aaaa\n    aaaa\n    aaaa");
  EXPECT_EQ(wrapped("a  b", unlimited), "a  b");
}

TEST(Table, TextFromOutsideCannotSteerTheTerminal) {
  Table table({{.heading = "NAME", .is_name = true}});
  table.add({"a\x1b[2J"}, "b\nc");
  EXPECT_THAT(table.text(unlimited), HasSubstr("a\\u001b[2J\n    b\\u000ac\n"));
  EXPECT_THAT(table.text(unlimited), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace quorumlock::cli
