#include "ran_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace quorumlock::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// Plays lists that come once a second, without nodes.
class RanOutTest : public testing::Test {
 protected:
  static HeldLock lock(const std::string& resource, std::chrono::milliseconds left,
                       const std::string& token = "12345678") {
    HeldLock one;
    one.resource = resource;
    one.label = "web-3:812";
    one.token_begin = token;
    one.expires_in = left;
    return one;
  }
  void see(std::vector<HeldLock> locks, bool complete = true) {
    LockList list;
    list.locks = std::move(locks);
    list.complete = complete;
    found.note(list, now, now + 10ms);
    now += 1s;
  }
  void fail() {
    found.note(Error(Errc::no_quorum, "too few nodes"), now, now + 10ms);
    now += 1s;
  }
  [[nodiscard]] std::size_t count() const { return found.document().size(); }

  RanOut found;
  RanOut::Time now{};
};

TEST_F(RanOutTest, ALeaseThatIsNotRenewedIsFound) {
  see({lock("orders:42", 9s)});
  for (const auto left : {5s, 1s}) see({lock("orders:42", left)});
  see({});
  ASSERT_EQ(count(), 1U);
  const Json one = found.document()[0];
  EXPECT_EQ(one.at("resource"), "orders:42");
  EXPECT_EQ(one.at("label"), "web-3:812");
  EXPECT_EQ(one.at("token_begin"), "12345678");
  EXPECT_GT(one.at("at_ms"), 1'700'000'000'000);
  EXPECT_THAT(found.text(), HasSubstr("orders:42 ran out: it was not renewed; held by web-3:812"));
  see({});
  EXPECT_EQ(count(), 1U);
}

TEST_F(RanOutTest, ALeaseThatIsGivenBackInTimeIsNot) {
  see({lock("orders:42", 9s)});
  see({lock("orders:42", 2s)});  // it would have run out a second later
  see({});
  see({lock("short", 800ms)});  // it is unknown whether it is renewed
  see({});
  EXPECT_EQ(count(), 0U);
  EXPECT_EQ(found.text(), "");
}

TEST_F(RanOutTest, TheNextHolderDoesNotHideIt) {
  see({lock("orders:42", 9s)});
  see({lock("orders:42", 500ms)});
  see({lock("orders:42", 9s, "87654321")});
  EXPECT_EQ(count(), 1U);
}

TEST_F(RanOutTest, ALineFitsIntoARow) {
  const std::string name = "tenants/" + std::string(180, 'y') + "/orders:";
  for (const auto left : {9s, 1s}) {
    see({lock("orders:42", left), lock(name + "1", left), lock(name + "2", left)});
  }
  see({});
  ASSERT_EQ(count(), 3U);
  for (const std::size_t width : {30U, 60U, 80U, 200U}) {
    std::istringstream lines(found.text(width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
  const std::string text = found.text(80, 2);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("  tenants/yy"), HasSubstr("...")));
  EXPECT_THAT(text, HasSubstr("/orders:2 ran out: it was not renewed; held by web-3:812\n"));
  EXPECT_THAT(found.text(), HasSubstr("  " + name + "1 ran out"));
}

TEST_F(RanOutTest, AfterAGapItsTimeDecides) {
  // For a long time no list could be read, so one lease must have run out; the other had time left.
  see({lock("orders:42", 3s), lock("stock:7", 30s)});
  for (int i = 0; i < 4; ++i) fail();
  see({});
  ASSERT_EQ(count(), 1U);
  EXPECT_EQ(found.document()[0].at("resource"), "orders:42");
  // It ended two seconds before it was missed.
  const auto ms = std::chrono::system_clock::now().time_since_epoch() / 1ms;
  const std::int64_t ago = ms - found.document()[0].at("at_ms").get<std::int64_t>();
  EXPECT_GE(ago, 2000);
}

TEST_F(RanOutTest, NothingFollowsFromAListThatEndsEarly) {
  see({lock("orders:42", 9s)});
  see({lock("orders:42", 500ms)});
  see({}, false);
  EXPECT_EQ(count(), 0U);
  see({});
  EXPECT_EQ(count(), 1U);
}

TEST_F(RanOutTest, TheLastFiftyAreKept) {
  for (int i = 0; i < 60; ++i) {
    see({lock("orders:" + std::to_string(i), 9s)});
    see({lock("orders:" + std::to_string(i), 500ms)});
  }
  see({});
  ASSERT_EQ(count(), 50U);
  EXPECT_EQ(found.document()[0].at("resource"), "orders:59");
}

}  // namespace
}  // namespace quorumlock::cli
