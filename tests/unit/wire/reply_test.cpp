#include "wire/reply.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "support/seeded_random.hpp"

namespace quorumlock::redis {

/// Prints a reply as redis-cli shows it, on one line.
void PrintTo(const Reply& reply, std::ostream* out) {
  switch (reply.type) {
    case Reply::Type::string: *out << '"' << reply.text << '"'; break;
    case Reply::Type::status: *out << '+' << reply.text; break;
    case Reply::Type::error: *out << '-' << reply.text; break;
    case Reply::Type::integer: *out << reply.integer; break;
    case Reply::Type::nil: *out << "nil"; break;
    case Reply::Type::array:
      *out << '[';
      for (const Reply& element : reply.elements) {
        if (&element != reply.elements.data()) *out << ' ';
        PrintTo(element, out);
      }
      *out << ']';
  }
}

namespace {

using test::SeededRandom;
using Strings = std::vector<std::string>;

std::string shown(const Reply& reply) {
  return testing::PrintToString(reply);
}

/// All replies in these pieces, fed one after the other; then "broken" if the reader broke.
Strings read(const std::vector<std::string_view>& pieces) {
  ReplyReader reader;
  Strings replies;
  for (const std::string_view piece : pieces) {
    reader.feed(piece);
    while (const Reply* reply = reader.next()) replies.push_back(shown(*reply));
  }
  if (!reader.broken().empty()) replies.push_back("broken");
  return replies;
}

const std::vector<std::pair<std::string, Strings>>& examples() {
  using namespace std::string_literals;
  static const std::vector<std::pair<std::string, Strings>> table = {
      {"+OK\r\n", {"+OK"}},
      {"-NOSCRIPT No matching script.\r\n", {"-NOSCRIPT No matching script."}},
      {":42\r\n:-7\r\n:9223372036854775807\r\n", {"42", "-7", "9223372036854775807"}},
      {"$3\r\nabc\r\n", {"\"abc\""}},
      {"$0\r\n\r\n$-1\r\n", {"\"\"", "nil"}},
      {"$5\r\na\r\nb\0\r\n"s, {"\"a\r\nb\0\""s}},
      {"*0\r\n*-1\r\n", {"[]", "nil"}},
      {"*3\r\n:1\r\n:-41\r\n:0\r\n:7\r\n+OK\r\n", {"[1 -41 0]", "7", "+OK"}},
      {"*2\r\n:1\r\n$1\r\na\r\n*1\r\n:5\r\n", {"[1 \"a\"]", "[5]"}},
      {"*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n+OK\r\n", {"[\"1700000000\" \"42\"]", "+OK"}},
      {"*2\r\n$-1\r\n:4\r\n:5\r\n", {"[nil 4]", "5"}},
      {"$3\r\nabcd\r\n", {"\"abc\"", "broken"}},
      {"$03\r\nabc\r\n", {"broken"}},
      {"$-2\r\nabc\r\n", {"broken"}},
      {"*2\r\n*2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", {"[[1 2] 3]", "4"}},
      {"*9\r\n:1\r\n:2\r\n:3\r\n:4\r\n:5\r\n:6\r\n:7\r\n:8\r\n:9\r\n:0\r\n",
       {"[1 2 3 4 5 6 7 8 9]", "0"}},
      {"+OKAY\r\n+OK\r\n:1\r\n", {"+OKAY", "+OK", "1"}},
      {"*2\r\n$1\r\na\r\n:1\r\n+OK\r\n", {"[\"a\" 1]", "+OK"}},
      {"*3\r\n*2\r\n:1\r\n*1\r\n:2\r\n*0\r\n-no\r\n", {"[[1 [2]] [] -no]"}},
      {"*2\r\n*2\r\n:1\r\n:2\r\n*2\r\n:3\r\n:4\r\n", {"[[1 2] [3 4]]"}},
      {"+OK\r\nHello\r\n+OK\r\n", {"+OK", "broken"}},
  };
  return table;
}

TEST(Reply, TypesOfResp3AreRefused) {
  // No server sends the types of RESP3 unless asked to, and not every version of hiredis reads
  // them.
  for (const std::string_view reply :
       {"%1\r\n+a\r\n+b\r\n", "~1\r\n+a\r\n", ">1\r\n+a\r\n", ",1.5\r\n", "#t\r\n", "(123\r\n",
        "=5\r\ntxt:a\r\n", "_\r\n", "*2\r\n:1\r\n,1.5\r\n", "*2\r\n:1\r\n%1\r\n+a\r\n+b\r\n"}) {
    EXPECT_EQ(read({reply}), Strings{"broken"}) << reply;
  }
}

TEST(Reply, EverySplitGivesTheSameReplies) {
  // The bytes may come in any two or three pieces, or one by one: the replies are the same.
  for (const auto& [bytes, replies] : examples()) {
    const std::string_view all = bytes;
    EXPECT_EQ(read({all}), replies);
    std::vector<std::string_view> one_by_one;
    for (std::size_t i = 0; i < all.size(); ++i) one_by_one.push_back(all.substr(i, 1));
    EXPECT_EQ(read(one_by_one), replies);
    for (std::size_t i = 0; i <= all.size(); ++i) {
      for (std::size_t j = i; j <= all.size(); ++j) {
        ASSERT_EQ(read({all.substr(0, i), all.substr(i, j - i), all.substr(j)}), replies)
            << "split at " << i << " and " << j;
      }
    }
  }
}

/// Appends a random reply's bytes to `bytes`; returns the reply as shown() shows it.
std::string make_reply(SeededRandom& random, std::string& bytes, int depth) {
  switch (random.between(0, depth < 5 ? 6 : 4)) {
    case 0: {
      const int number = random.between(-1000, 1000);
      bytes += ":" + std::to_string(number) + "\r\n";
      return std::to_string(number);
    }
    case 1: bytes += "$-1\r\n"; return "nil";
    case 2: bytes += "+QUEUED\r\n"; return "+QUEUED";
    case 3: bytes += "-ERR no\r\n"; return "-ERR no";
    case 4: {
      std::string text(static_cast<std::size_t>(random.between(0, 2000)), '\0');
      random.fill(std::as_writable_bytes(std::span(text)));
      bytes += "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
      return '"' + text + '"';
    }
    default: {
      const int count = random.between(0, 4);
      bytes += "*" + std::to_string(count) + "\r\n";
      std::string text = "[";
      for (int i = 0; i < count; ++i) {
        if (i > 0) text += ' ';
        text += make_reply(random, bytes, depth + 1);
      }
      return text + "]";
    }
  }
}

TEST(Reply, RandomRepliesAreReadInRandomPieces) {
  // Sequences of nested arrays and binary strings are cut anywhere.
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    std::string bytes;
    Strings expected;
    for (int i = random.between(1, 20); i > 0; --i) {
      expected.push_back(make_reply(random, bytes, 0));
    }
    std::vector<std::string_view> pieces;
    for (std::string_view rest = bytes; !rest.empty();) {
      pieces.push_back(rest.substr(0, static_cast<std::size_t>(random.between(1, 700))));
      rest.remove_prefix(pieces.back().size());
    }
    ASSERT_EQ(read(pieces), expected);
  }
}

TEST(Reply, ManyAreReadAtOnce) {
  // Small replies that together exceed the limit of one reply come from a busy node, not a bad one.
  std::string bytes;
  for (std::size_t i = 0; i < 3 * ReplyReader::max_bytes / 5; ++i) bytes += "+OK\r\n";
  bytes += "+O";
  ReplyReader reader;
  reader.feed(bytes);
  std::size_t replies = 0;
  while (reader.next() != nullptr) ++replies;
  EXPECT_EQ(replies, 3 * ReplyReader::max_bytes / 5);
  EXPECT_TRUE(reader.broken().empty());
  reader.feed("K\r\n");
  ASSERT_NE(reader.next(), nullptr);
}

TEST(Reply, MayBeAsLargeAsPermitted) {
  // A string of the maximum size is read; one more byte is refused.
  for (const std::size_t size : {ReplyReader::max_bytes, ReplyReader::max_bytes + 1}) {
    ReplyReader reader;
    reader.feed("$" + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n");
    const Reply* reply = reader.next();
    ASSERT_EQ(reply != nullptr, size == ReplyReader::max_bytes);
    EXPECT_EQ(reader.broken().empty(), reply != nullptr);
    EXPECT_EQ(reply != nullptr ? reply->text.size() : size, size);
  }
}

TEST(Reply, MayHaveAsManyElementsAsPermitted) {
  // An array's elements are limited as a whole, whatever its shape, before memory is allocated.
  const auto array = [](std::size_t size) { return "*" + std::to_string(size) + "\r\n"; };
  const auto ones = [&array](std::size_t size) {
    std::string bytes = array(size);
    for (std::size_t i = 0; i < size; ++i) bytes += ":1\r\n";
    return bytes;
  };
  // The array itself counts as one of its elements.
  const std::size_t most = ReplyReader::max_elements - 1;
  EXPECT_NE(read({ones(most)}), Strings{"broken"});
  EXPECT_NE(read({array(2) + ones(most / 2) + ones(most / 2 - 1)}), Strings{"broken"});
  EXPECT_EQ(read({array(2) + ones(most / 2) + ones(most / 2 + 1)}), Strings{"broken"});
  EXPECT_EQ(read({array(most + 1)}), Strings{"broken"});
  EXPECT_EQ(read({array(2'000'000'000)}), Strings{"broken"});
  EXPECT_EQ(read({array(4'000'000'000)}), Strings{"broken"});
}

TEST(Reply, HugeStringsAreRefusedBeforeTheirEnd) {
  // A string of a gigabyte, or without an end, comes slowly: it is refused long before it is
  // complete, and the bytes after that are not kept.
  for (const std::string_view begin : {"$1000000000\r\n", "+", "-ERR ", "*2\r\n$1000000000\r\n"}) {
    ReplyReader reader;
    reader.feed(begin);
    std::size_t fed = 0;
    const std::string piece(64 * 1024, 'x');
    while (reader.broken().empty() && fed < 10 * ReplyReader::max_bytes) {
      reader.feed(piece);
      fed += piece.size();
      ASSERT_EQ(reader.next(), nullptr);
    }
    EXPECT_FALSE(reader.broken().empty()) << begin;
    EXPECT_LE(fed, 3 * ReplyReader::max_bytes) << begin;
  }
}

TEST(Reply, LongLinesAreRefused) {
  // An error of the maximum length is read, and one more byte is refused, however it is split. A
  // line is refused before its end has come, since searching for the end costs more with each byte.
  for (const std::size_t size : {ReplyReader::max_line, ReplyReader::max_line + 1}) {
    const std::string line = "-" + std::string(size, 'x') + "\r\n";
    const bool good = size == ReplyReader::max_line;
    std::vector<std::string_view> one_by_one;
    for (std::size_t i = 0; i < line.size(); ++i) {
      one_by_one.push_back(std::string_view(line).substr(i, 1));
    }
    EXPECT_EQ(read({line}) == Strings{"broken"}, !good);
    EXPECT_EQ(read(one_by_one) == Strings{"broken"}, !good);
  }
  for (const std::string_view begin : {"+", "-", ":", "$", "*", "*2\r\n:"}) {
    const std::string endless(ReplyReader::max_line + 3, '1');
    EXPECT_EQ(read({begin, endless}), Strings{"broken"}) << begin;
  }
}

TEST(Reply, WordsOfANodeAreSafeInASentence) {
  // A node's words appear in our sentences: on one line, and of limited length.
  Reply reply{Reply::Type::error, 0, "ERR \x1b[31mred\nand \xff", {}};
  EXPECT_EQ(words_of(reply), "ERR \\u001b[31mred\\u000aand \\xff");
  const std::string text(ReplyReader::max_line, 'x');
  reply.text = text;
  EXPECT_EQ(words_of(reply), std::string(200, 'x') + "...");
}

TEST(Reply, ACommandThatIsTakenAwayIsNamedWithoutItsArguments) {
  const Reply reply{Reply::Type::error,
                    0,
                    "ERR unknown command 'EVAL', with args beginning with: 'local mark' 'x' ",
                    {}};
  const std::string words = words_of(reply);
  EXPECT_EQ(words,
            "ERR unknown command 'EVAL', which rename-command or a proxy may have taken away");
  EXPECT_EQ(words_of({Reply::Type::error, 0, words, {}}), words) << "once is enough";
}

TEST(Reply, OnlyTimesThatAClockCanShowAreRead) {
  const auto microseconds = [](std::string_view seconds, std::string_view rest) {
    const Reply parts[] = {{Reply::Type::string, 0, seconds, {}},
                           {Reply::Type::string, 0, rest, {}}};
    return time_of(Reply{Reply::Type::array, 0, {}, parts});
  };
  EXPECT_EQ(microseconds("1700000000", "999999"), 1'700'000'000'999'999);
  EXPECT_EQ(microseconds("0", "0"), 0);
  EXPECT_EQ(microseconds("1700000000", "1000000"), std::nullopt);
  EXPECT_EQ(microseconds("4503599627", "0"), std::nullopt);  // 2^52 us or more
  EXPECT_EQ(microseconds("-1", "0"), std::nullopt);
  EXPECT_EQ(microseconds("1700000000", "-1"), std::nullopt);
  EXPECT_EQ(microseconds("1700000000", "5 "), std::nullopt);
  EXPECT_EQ(microseconds("", "5"), std::nullopt);
}

TEST(Reply, DeepNestingIsRefused) {
  // No reply of ours is nested deeply; a reply that is cannot exhaust the stack.
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += "*1\r\n";
  EXPECT_EQ(read({bytes + ":1\r\n"}), Strings{"broken"});
}

TEST(Reply, GarbageIsRefused) {
  // The bytes do not begin like a reply, or have no valid number in a number's place.
  for (const std::string_view bytes :
       {"HTTP/1.1 200 OK\r\n", "\r\n", "PONG\r\n", ":\r\n", ":00\r\n", ":-0\r\n", "*01\r\n:1\r\n",
        ":1x\r\n", "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", ":99999999999999999999\r\n",
        "$99999999999999999999\r\n", "*99999999999999999999\r\n", "#t\r\n", "_\r\n", "%1\r\n",
        "\x16\x03\x01"}) {
    EXPECT_EQ(read({bytes}), Strings{"broken"}) << bytes;
  }
}

TEST(Reply, ABrokenReaderStaysBroken) {
  // A reader is reset for a new connection, and then knows nothing of the old one.
  ReplyReader reader;
  reader.feed("*2\r\n:1\r\nHello\r\n");
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_FALSE(reader.broken().empty());
  reader.feed("+OK\r\n");
  EXPECT_EQ(reader.next(), nullptr);
  reader.reset();
  EXPECT_TRUE(reader.broken().empty());
  EXPECT_EQ(reader.next(), nullptr);
  reader.feed("+OK\r\n");
  const Reply* reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(shown(*reply), "+OK");
}

TEST(Reply, AResetForgetsHalfAReply) {
  // The connection broke in the middle of an array.
  ReplyReader reader;
  reader.feed("*2\r\n$5\r\nhel");
  EXPECT_EQ(reader.next(), nullptr);
  reader.reset();
  reader.feed(":1\r\n");
  const Reply* reply = reader.next();
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(shown(*reply), "1");
}

TEST(Reply, RandomBytesNeverDoHarm) {
  // Whatever bytes come, the reader gives replies or breaks, and its replies can be traversed.
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    constexpr std::string_view likely = "+-:$*0123456789\r\n\r\n\r\nab";
    std::string bytes(300, '\0');
    for (char& byte : bytes) byte = likely[random.index(likely.size())];
    ReplyReader reader;
    for (std::size_t i = 0; i < bytes.size(); i += 7) {
      reader.feed(std::string_view(bytes).substr(i, 7));
      while (const Reply* reply = reader.next()) ASSERT_FALSE(shown(*reply).empty());
    }
  }
}

}  // namespace
}  // namespace quorumlock::redis
