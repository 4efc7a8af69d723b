#include "wire/words.hpp"

#include <array>
#include <set>

#include "support/seeded_random.hpp"
#include "unit/verbs/calls.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::test {
namespace {

TEST(Words, AreWhatHiredisFormats) {
  // The words are random, some of them empty or binary, of lengths with one to four digits; earlier
  // bytes stay in front.
  SeededRandom random(17);
  for (int run = 0; run < 500; ++run) {
    std::array<std::string, 4> words;
    for (std::string& word : words) {
      const int longest = std::array{0, 1, 9, 10, 99, 100, 5000}[random.index(7)];
      word.resize(static_cast<std::size_t>(random.between(0, longest)));
      random.fill(std::as_writable_bytes(std::span(word)));
    }
    std::string bytes = "before";
    redis::append_command(bytes, {words[0], words[1], words[2], words[3]});
    ASSERT_EQ(bytes, "before" + formatted({words[0], words[1], words[2], words[3]}));
    bytes.clear();
    redis::append_command(bytes, {words[0]});
    ASSERT_EQ(bytes, formatted({words[0]}));
  }
}

TEST(Words, OfAWaiterWithTheLongestName) {
  std::array<char, redis::waiter_room> name;
  const std::string process(32, 'f');
  const char* end = redis::put_waiter(name.data(), {process, 18'446'744'073'709'551'615U, 0, true});
  EXPECT_EQ(std::string_view(name.data(), end), "r" + process + ".18446744073709551615");
  const std::string label(core::most_label, 'x');
  end = redis::put_waiter(name.data(),
                          {process, 18'446'744'073'709'551'615U, 0, false, label + "too long"});
  EXPECT_EQ(std::string_view(name.data(), end), "w" + process + ".18446744073709551615@" + label);
  EXPECT_EQ(end, name.data() + 32 + 1 + 1 + 20 + 1 + core::most_label);
}

TEST(Words, NameTheScriptsByFortyHexDigits) {
  // Every script has a name of its own.
  using namespace redis;
  std::set<std::string_view> names;
  for (const Script* script : all_scripts) {
    EXPECT_EQ(script->sha1.size(), 40U);
    EXPECT_EQ(script->sha1.find_first_not_of("0123456789abcdef"), script->sha1.npos);
    EXPECT_TRUE(names.insert(script->sha1).second);
  }
}

}  // namespace
}  // namespace quorumlock::test
