#include "chaos/report.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;

TEST(Report, ALineReadsBackAsItsLease) {
  Holding holding;
  holding.resource = "r";
  holding.owner = "owner";
  holding.worker = 3;
  holding.shared = true;
  holding.permits = 2;
  holding.token = (1ULL << 53) - 1;
  holding.asked = Time(1ns);
  holding.begin = Time(2ns);
  holding.believed = Time(3ns);
  holding.until = Time(4ns);
  holding.noticed = Time(5ns);
  holding.told = Time(6ns);
  holding.longest_gap = 7ns;
  for (const Ending ending :
       {Ending::released, Ending::detached, Ending::over, Ending::unfinished}) {
    holding.ending = ending;
    const Holding again = holding_of(to_line(holding));
    EXPECT_EQ(again.ending, ending);
    EXPECT_EQ(again.resource, "r");
    EXPECT_EQ(again.owner, "owner");
    EXPECT_EQ(again.worker, 3);
    EXPECT_TRUE(again.shared);
    EXPECT_EQ(again.permits, 2);
    EXPECT_EQ(again.token, holding.token);
    EXPECT_EQ(again.asked, holding.asked);
    EXPECT_EQ(again.begin, holding.begin);
    EXPECT_EQ(again.believed, holding.believed);
    EXPECT_EQ(again.until, holding.until);
    EXPECT_EQ(again.noticed, holding.noticed);
    EXPECT_EQ(again.told, holding.told);
    EXPECT_EQ(again.longest_gap, holding.longest_gap);
  }
}

TEST(Report, AHolderThatWasNotNotifiedReadsBackAsSuch) {
  EXPECT_FALSE(holding_of(to_line(Holding{})).told);
}

TEST(Report, RefusesALineThatIsNotALease) {
  EXPECT_THROW((void)holding_of("refused"), std::runtime_error);
  EXPECT_THROW((void)holding_of("{}"), std::runtime_error);
}

}  // namespace
}  // namespace quorumlock::chaos
