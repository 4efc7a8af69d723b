#include <quorumlock/event.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/metrics.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/result.hpp>
#include "config/quoted.hpp"
#include "members/membership.hpp"
#include "support/outside_text.hpp"
#include "support/seeded_random.hpp"
#include "wire/endpoint.hpp"
#include "wire/reply.hpp"

// Text from outside, as it is and in everything that the library says.
namespace quorumlock::test {
namespace {

using testing::HasSubstr;

std::string utf8_of(char32_t code) {
  const auto tail = [code](int shift) {
    return static_cast<char>(0x80U | (code >> static_cast<unsigned>(shift) & 0x3fU));
  };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0U | code >> 6U), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0U | code >> 12U), tail(6), tail(0)};
  return {static_cast<char>(0xf0U | code >> 18U), tail(12), tail(6), tail(0)};
}

TEST(Printable, EscapesWhatCouldSteerATerminal) {
  for (const OutsideText& one : outside_texts) {
    const std::string shown = printable(std::string("a").append(one.bytes).append("b"));
    EXPECT_EQ(shown, "a" + std::string(one.shown) + "b") << one.name;
    EXPECT_EQ(printable(one.bytes), one.shown) << one.name;
  }
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
}

TEST(Printable, LeavesOtherTextAsItIs) {
  for (const char* text : {"", " ", "orders:42~", "\"\\ '", "bäckerei", "日本語", "🔒", "e\xcc\x81",
                           "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EveryCharacterIsEitherPrintedOrEscaped) {
  for (char32_t code = 0; code <= 0x10ffff; ++code) {
    const std::string text = utf8_of(code);
    const bool good = unprintable_at(text) == text.npos;
    const std::string shown = printable(text);
    ASSERT_EQ(shown == text, good) << static_cast<std::uint32_t>(code);
    ASSERT_EQ(unprintable_at(shown), shown.npos) << static_cast<std::uint32_t>(code);
  }
}

TEST(Printable, WhateverTheBytesAreTheResultIsPrintableAndStaysSo) {
  SeededRandom random(12);
  std::string bytes(40, '\0');
  for (int i = 0; i < 20'000; ++i) {
    random.fill(std::as_writable_bytes(std::span(bytes)));
    // Leads of longer characters, and what may follow them, are more frequent than by chance.
    for (std::size_t at = 0; at + 2 < bytes.size(); at += 5) bytes[at] = "\xe2\xed\xf0\xf4"[i % 4];
    for (std::size_t at = 1; at + 1 < bytes.size(); at += 5) bytes[at] = "\x80\x90\xa0\x8f"[i % 4];
    const std::string shown = printable(bytes);
    ASSERT_EQ(unprintable_at(shown), shown.npos) << shown;
    ASSERT_EQ(printable(shown), shown);
  }
}

TEST(Printable, IsCutBetweenCharacters) {
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable("abcd", 3), "abc...");
  EXPECT_EQ(printable("abä", 3), "ab...");  // and not in the middle of the last one
  EXPECT_EQ(printable("abä", 4), "abä");
  EXPECT_EQ(printable("ab\x1b", 7), "ab...");  // nor of an escape
  EXPECT_EQ(printable("ab\x1b", 8), "ab\\u001b");
  EXPECT_EQ(printable("\x9b\x9b", 4), "\\x9b...");
}

/// Something that the library says, with a text from outside in it.
struct Sentence {
  const char* name;
  std::function<std::string(const std::string& text)> with;
  bool shows = true;  ///< the text is in it, and not left out
};

const std::vector<Sentence>& sentences() {
  static const std::vector<Sentence> all = {
      {"an error", [](const auto& text) { return std::string(Error(Errc::lost, text).what()); }},
      {"an event",
       [](const auto& text) {
         return to_string(Event{.kind = EventKind::lease_lost, .resource = text, .reason = text});
       }},
      {"a node's event",
       [](const auto& text) { return to_string(Event{.node = text, .reason = "why"}); }},
      {"the user's words", [](const auto& text) { return detail::quoted(text); }},
      {"a duration",
       [](const auto& text) { return std::string(parse_duration("--ttl", text).error().what()); }},
      {"a key of the options",
       [](const auto& text) {
         return std::string(Options::from_json("{\"" + text + "\": 1}").error().what());
       },
       false},
      {"broken options",
       [](const auto& text) { return std::string(Options::from_json(text).error().what()); },
       false},
      {"a class of resources",
       [](const auto& text) {
         Options options;
         options.nodes = {"redis://a"};
         options.resource_classes = {text, text};
         return std::string(options.validate().error().what());
       }},
      {"a node's URL",
       [](const auto& text) {
         return std::string(redis::Endpoint::parse("redis://a" + text).error().what());
       },
       false},
      {"a socket's URL",
       [](const auto& text) {
         return std::string(redis::Endpoint::parse("unix:///a" + text).error().what());
       },
       false},
      {"a node's words",
       [](const auto& text) {
         return redis::words_of({redis::Reply::Type::error, 0, text, {}});
       }},
      {"names in a node's list",
       [](const auto& text) {
         return redis::names_in_words({"a", text, "b"});
       }},
      {"a finding",
       [](const auto& text) {
         ClusterStatus status;
         NodeStatus& node = status.nodes.emplace_back();
         node.node = text;
         node.trouble = text;
         std::string found;
         for (const Finding& one : findings_of(status)) found += one.node + one.what + one.remedy;
         return found;
       }},
      {"a metric's label",
       [](const auto& text) {
         return metric_families({}, {{"host", text}})
             .value()
             .front()
             .samples.front()
             .labels[0]
             .second;
       }},
      {"a class in the metrics", [](const auto& text) {
         Stats stats;
         stats.classes.emplace_back().prefix = text;
         const auto families = metric_families(stats).value();
         for (const MetricFamily& family : families) {
           if (family.name == "quorumlock_class_acquired") {
             return family.samples.front().labels[0].second;
           }
         }
         return std::string();
       }}};
  return all;
}

TEST(PrintableSentences, WhateverTheLibrarySaysIsPrintable) {
  for (const Sentence& sentence : sentences()) {
    for (const OutsideText& one : outside_texts) {
      const std::string said = sentence.with(std::string(one.bytes));
      EXPECT_FALSE(said.empty()) << sentence.name;
      EXPECT_EQ(unprintable_at(said), said.npos)
          << sentence.name << ", " << one.name << ": " << said;
      if (!sentence.shows) continue;
      EXPECT_THAT(said, HasSubstr(one.shown)) << sentence.name;
    }
  }
}

TEST(PrintableSentences, NoLabelLosesAPageOfMetrics) {
  // Prometheus drops a whole page for one byte that is not UTF-8, and a line for a line's end.
  const auto page = [](const std::string& text) {
    ClusterStatus status;
    status.nodes.emplace_back().node = text;
    Stats stats;
    stats.classes.emplace_back().prefix = text;
    return metrics_text(stats, status, {.labels = {{"host", text}}}).value();
  };
  const auto lines = std::ranges::count(page("plain"), '\n');
  for (const OutsideText& one : outside_texts) {
    const std::string text = page(std::string(one.bytes));
    EXPECT_EQ(unprintable_at(text, "\n"), text.npos) << one.name;
    EXPECT_EQ(std::ranges::count(text, '\n'), lines) << one.name;
  }
}

}  // namespace
}  // namespace quorumlock::test
