#include "loop/links.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/seeded_random.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

std::vector<redis::Link::Config> list_of(const std::vector<std::string>& hosts) {
  std::vector<redis::Link::Config> list;
  for (const std::string& host : hosts) {
    redis::Link::Config& config = list.emplace_back();
    config.endpoint.host = host;
    config.node_timeout = config.connect_timeout = 1s;
    config.enrolment.node = host;
  }
  return list;
}

/// Takes all events of a node that has left.
void drain(Links& links, int node) {
  while (links.link(node).next(core::Time()) != nullptr) {
  }
}

using Numbers = std::vector<int>;

TEST(Links, ANodeThatStaysKeepsItsNumberAndItsLink) {
  test::SeededRandom random(1);
  Links links(list_of({"a", "b", "c"}), random);
  EXPECT_EQ(links.nodes(), (Numbers{0, 1, 2}));
  const redis::Link* const c = &links.link(2);
  const auto change = links.replace(list_of({"c", "d", "a"}));
  ASSERT_TRUE(change);
  EXPECT_EQ(links.nodes(), (Numbers{2, 3, 0}));
  EXPECT_EQ(change->come, Numbers{3});
  EXPECT_EQ(change->gone, Numbers{1});
  EXPECT_EQ(change->reused, Numbers{});
  EXPECT_EQ(&links.link(2), c);
  EXPECT_EQ(links.link(3).endpoint().host, "d");
}

TEST(Links, ANumberIsGivenAgainOnceItsEventsHaveBeenTaken) {
  test::SeededRandom random(1);
  Links links(list_of({"a", "b"}), random);
  links.link(1).start(core::Time());
  ASSERT_TRUE(links.replace(list_of({"a", "c"})));
  EXPECT_EQ(links.nodes(), (Numbers{0, 2}));
  links.link(1).stop(core::Time());
  ASSERT_TRUE(links.replace(list_of({"a", "d"})));
  EXPECT_EQ(links.nodes(), (Numbers{0, 3})) << "what b was asked is not answered yet";
  drain(links, 1);
  const auto change = links.replace(list_of({"a", "e"}));
  ASSERT_TRUE(change);
  EXPECT_EQ(links.nodes(), (Numbers{0, 1}));
  EXPECT_EQ(change->reused, Numbers{1});
}

TEST(Links, TheSameServerUnderAnotherNameIsAnotherNode) {
  test::SeededRandom random(1);
  Links links(list_of({"a", "b"}), random);
  std::vector<redis::Link::Config> renamed = list_of({"a", "b"});
  renamed[1].enrolment.node = "bee";
  EXPECT_EQ(links.number_of(renamed[0]), 0);
  EXPECT_EQ(links.number_of(renamed[1]), -1);
}

TEST(Links, TooManyAtATimeAreRefused) {
  test::SeededRandom random(1);
  std::vector<std::string> hosts;
  for (int i = 0; i < 20; ++i) hosts.push_back("a" + std::to_string(i));
  Links links(list_of(hosts), random);
  for (std::string& host : hosts) host[0] = 'b';
  EXPECT_FALSE(links.replace(list_of(hosts)));
  EXPECT_EQ(links.nodes().size(), 20U);
  EXPECT_EQ(links.link(0).endpoint().host, "a0");
}

}  // namespace
}  // namespace quorumlock::detail
