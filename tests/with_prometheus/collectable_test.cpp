#include <quorumlock/prometheus.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <sstream>
#include <string>

#include <quorumlock/quorumlock.hpp>
#include <quorumlock/testing.hpp>

namespace quorumlock {
namespace {

/// Prometheus text by line, without its value; and the values, as numbers are written differently.
std::map<std::string, double> values_of(const std::string& text) {
  std::map<std::string, double> values;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) {
      values[line] = 0;
      continue;
    }
    const std::size_t end = line.rfind(' ');
    std::string name = line.substr(0, end);
    if (const std::size_t le = name.find("le=\""); le != name.npos) {
      const std::size_t bound = le + 4;
      const std::size_t quote = name.find('"', bound);
      const double number = std::stod(name.substr(bound, quote - bound));
      name.replace(bound, quote - bound, std::to_string(number));
    }
    values[name] = std::stod(line.substr(end));
  }
  return values;
}

class Collectable : public ::testing::Test {
 protected:
  Collectable() {
    Lease lease = coordinator.acquire("orders").value();
    EXPECT_FALSE(coordinator.acquire("orders").has_value());
    lease.release().value();
  }

  testing::Cluster cluster{3};
  Coordinator coordinator = Coordinator::create(cluster.options()).value();
};

TEST_F(Collectable, GivesWhatTheTextGives) {
  const MetricLabels labels = {{"service", "a\"b\\c\nd"}};
  const PrometheusCollectable collectable(coordinator, {.labels = labels});
  // The answers of nodes that no quorum needed still come in, between one look and the next, too.
  const auto of_stats = [&] {
    return values_of(metrics_text(coordinator.stats(), {.labels = labels}).value());
  };
  std::map<std::string, double> expected;
  std::string text;
  do {
    expected = of_stats();
    text = ::prometheus::TextSerializer().Serialize(collectable.Collect());
  } while (of_stats() != expected);
  EXPECT_THAT(text, ::testing::HasSubstr("quorumlock_acquired_total{service="));
  EXPECT_EQ(values_of(text), expected);
  EXPECT_GT(expected.size(), 60U);
}

TEST_F(Collectable, AsksTheNodesIfItIsAskedTo) {
  const auto nodes = [&](bool asked) {
    const PrometheusCollectable collectable(coordinator, {.nodes = asked});
    std::size_t count = 0;
    for (const ::prometheus::MetricFamily& family : collectable.Collect()) {
      if (family.name == "quorumlock_node_votes") count = family.metric.size();
    }
    return count;
  };
  EXPECT_EQ(nodes(false), 0U);
  EXPECT_EQ(nodes(true), 3U);
  coordinator.close();
  EXPECT_EQ(nodes(true), 0U);
}

TEST_F(Collectable, RefusesALabelThatTheMetricsUseThemselves) {
  EXPECT_THROW(PrometheusCollectable(coordinator, {.labels = {{"vote", "x"}}}), Error);
}

}  // namespace
}  // namespace quorumlock
