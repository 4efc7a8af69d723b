#include <quorumlock/metrics.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace quorumlock {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Stats some_stats() {
  Stats stats;
  stats.acquired = 7;
  stats.held = 2;
  stats.oldest_wait = 1500ms;
  stats.refused.timed_out = 3;
  stats.waits = {.count = 4, .total = 6500ms, .longest = 6s};
  stats.waits.histogram[0] = 1;
  stats.waits.histogram[3] = 2;
  stats.waits.histogram[15] = 1;
  stats.votes[static_cast<std::size_t>(Vote::held)] = 9;
  return stats;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Metrics, EachFamilyHasHelpAndTypeBeforeItsSamples) {
  ClusterStatus status;
  NodeStatus& node = status.nodes.emplace_back();
  node.node = "a:1";
  node.round_trip = 250us;
  node.connections = 3;
  const std::string text = metrics_text(some_stats(), status).value();
  EXPECT_TRUE(text.ends_with('\n'));
  const std::regex sample(
      R"re((\w+?)(_bucket|_sum|_count)?(\{\w+="[^"]*"(,\w+="[^"]*")*\})? \S+)re");
  std::string help, family;
  std::set<std::string> families;
  for (const std::string& line : lines_of(text)) {
    std::smatch found;
    if (line.starts_with("# HELP ")) {
      help = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(help).second) << line;
    } else if (line.starts_with("# TYPE ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_EQ(family, help);
    } else {
      ASSERT_TRUE(std::regex_match(line, found, sample)) << line;
      EXPECT_EQ(found[1], family) << line;
    }
  }
  EXPECT_THAT(text, HasSubstr("\nquorumlock_acquired_total 7\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_held 2\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_oldest_wait_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_refused_total{reason=\"timed_out\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_votes_total{vote=\"held\"} 9\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_node_votes{node=\"a:1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_node_nobody_enrols{node=\"a:1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_node_connections_total{node=\"a:1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_node_round_trip_seconds{node=\"a:1\"} 0.00025\n"));
}

TEST(Metrics, ClassesAreLabels) {
  // A prefix may have any letters. Without classes there are no metrics of classes.
  Stats stats;
  EXPECT_EQ(metrics_text(stats).value().find("class"), std::string::npos);
  stats.classes = {{"orders:\"", 3, {.timed_out = 2}, 1, {.count = 5, .total = 10s}}, {"", 7}};
  stats.classes[0].waits.histogram[0] = 5;
  const std::string text = metrics_text(stats, {.labels = {{"zone", "x"}}}).value();
  const std::string orders = "{zone=\"x\",class=\"orders:\\\"\"";
  EXPECT_THAT(text, HasSubstr("\nquorumlock_class_acquired_total" + orders + "} 3\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_class_acquired_total{zone=\"x\",class=\"other\"} 7\n"));
  EXPECT_THAT(
      text, HasSubstr("\nquorumlock_class_refused_total" + orders + ",reason=\"timed_out\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_class_lost_total" + orders + "} 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\nquorumlock_class_wait_seconds_bucket" + orders + ",le=\"0.0001\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("\nquorumlock_class_wait_seconds_sum" + orders + "} 10\n"));
}

TEST(Metrics, AHistogramCountsAllBelowEachBound) {
  const std::string text = metrics_text(some_stats()).value();
  EXPECT_THAT(text, HasSubstr("# TYPE quorumlock_wait_seconds histogram\n"
                              "quorumlock_wait_seconds_bucket{le=\"0.0001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("quorumlock_wait_seconds_bucket{le=\"0.001\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("quorumlock_wait_seconds_bucket{le=\"5\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("quorumlock_wait_seconds_bucket{le=\"10\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("quorumlock_wait_seconds_bucket{le=\"+Inf\"} 4\n"
                              "quorumlock_wait_seconds_sum 6.5\n"
                              "quorumlock_wait_seconds_count 4\n"));
}

TEST(Metrics, OpenMetricsNamesFamiliesWithoutTotalAndEnds) {
  const std::string text = metrics_text(some_stats(), {.openmetrics = true}).value();
  EXPECT_THAT(text, HasSubstr("# TYPE quorumlock_acquired counter\nquorumlock_acquired_total 7\n"));
  EXPECT_THAT(text, HasSubstr("{le=\"5.0\"} 3\n"));
  EXPECT_TRUE(text.ends_with("# EOF\n"));
}

TEST(Metrics, TheCallersLabelsAreOnEverySample) {
  const std::string text =
      metrics_text(some_stats(), {.labels = {{"service", "a\"b\\c\nd"}, {"zone", "x"}}}).value();
  EXPECT_THAT(text, HasSubstr("quorumlock_held{service=\"a\\\"b\\\\c\\\\u000ad\",zone=\"x\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(",zone=\"x\",vote=\"held\"} 9\n"));
  for (const std::string& line : lines_of(text)) {
    EXPECT_TRUE(line.starts_with('#') || line.find("zone=\"x\"") != line.npos) << line;
  }
}

TEST(Metrics, NodesHaveWhatTheyAnswered) {
  // The metrics have the number of voters of each group, and the votes that each node has given.
  Stats stats;
  EXPECT_EQ(metrics_text(stats).value().find("nodes_voting"), std::string::npos);
  stats.nodes = {{"a:1", "", true}, {"b:1", "", false}, {"c:1", "", true}};
  stats.nodes[1].votes[static_cast<std::size_t>(Vote::timed_out)] = 4;
  const std::string text = metrics_text(stats).value();
  EXPECT_THAT(text, HasSubstr("\nquorumlock_nodes_voting 2\n"));
  EXPECT_TRUE(
      text.ends_with("# TYPE quorumlock_node_answers_total counter\n"
                     "quorumlock_node_answers_total{node=\"b:1\",vote=\"timed_out\"} 4\n"))
      << text;
  stats.nodes[2].group = "east";
  const std::string groups = metrics_text(stats, {.labels = {{"zone", "x"}}}).value();
  EXPECT_THAT(groups, HasSubstr("\nquorumlock_nodes_voting{zone=\"x\"} 1\n"));
  EXPECT_THAT(groups, HasSubstr("\nquorumlock_nodes_voting{zone=\"x\",group=\"east\"} 1\n"));
}

}  // namespace
}  // namespace quorumlock
