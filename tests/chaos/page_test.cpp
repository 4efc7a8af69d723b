#include "chaos/page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "chaos/at.hpp"
#include "chaos/timeline.hpp"

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

struct Page : testing::Test {
  Page() {
    history.seed = 7;
    history.workers = 2;
    history.nodes = 5;
    history.begin = at(0);
    history.end = at(25'000);
    history.ttl = 1s;
    history.max_ttl = 3s;
    history.resources = {"resource-A"};
    Holding holding;
    holding.resource = "resource-A";
    holding.owner = "a";
    holding.token = 1000;
    holding.begin = at(100);
    holding.until = at(1100);
    holding.ending = Ending::released;
    holding.noticed = at(900);
    history.holdings = {holding};
    history.writes = {{"resource-A", "a", 0, 1000, at(500), true, 0}};
    history.faults = {{.name = "flush", .target = 2, .begin = at(12'000), .end = at(12'001)}};
  }

  std::string page() const { return page_of(history, check(history), all_faults()); }

  History history;
};

TEST_F(Page, SaysThatAllHeld) {
  EXPECT_THAT(page(), HasSubstr("class=\"verdict held\">HELD: 25 seconds, 1 fault "));
  EXPECT_THAT(page(), HasSubstr("Seed 7"));
}

TEST_F(Page, NamesAViolationAndLinksToItsPlace) {
  history.writes.push_back({"resource-A", "b", 1, 999, at(21'500), true, 1000});
  EXPECT_THAT(page(), HasSubstr("class=\"verdict failed\">FAILED: 1 violation "));
  EXPECT_THAT(page(), HasSubstr("<a href=\"#slice2\">21.500 s</a>"));
  EXPECT_THAT(page(), HasSubstr("class=\"stale\""));
}

TEST_F(Page, HasALineForEachTenSeconds) {
  EXPECT_THAT(page(), HasSubstr("id=\"slice2\""));
  EXPECT_THAT(page(), Not(HasSubstr("id=\"slice3\"")));
}

TEST_F(Page, NeedsNothingFromElsewhere) {
  EXPECT_THAT(page(), Not(HasSubstr("http")));
  EXPECT_THAT(page(), Not(HasSubstr("src=")));
}

TEST_F(Page, ExplainsEachFault) {
  for (const auto& fault : all_faults()) {
    EXPECT_THAT(page(), HasSubstr("<code>" + fault->traits().name + "</code>"));
  }
}

TEST_F(Page, EscapesText) {
  EXPECT_EQ(escaped("<a> & \"b\""), "&lt;a&gt; &amp; &quot;b&quot;");
}

}  // namespace
}  // namespace quorumlock::chaos
