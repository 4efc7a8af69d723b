#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.hpp"
#include "support/cluster.hpp"
#include "support/eventually.hpp"

namespace quorumlock::test {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Finds our own document in what a command and its shell have written to standard error.
inline json document_in(const std::string& text) {
  return json::parse(text.substr(std::min(text.find('{'), text.size())));
}

/// The program, with three nodes of the test's own.
class CommandLine : public testing::Test {
 protected:
  explicit CommandLine(ClusterSettings settings = {.size = 3}) : cluster(std::move(settings)) {}

  /// The variable that names the nodes, as NAME=value.
  [[nodiscard]] std::string nodes() const {
    std::string list;
    for (const std::string& url : cluster.urls()) list += (list.empty() ? "" : ",") + url;
    return "QUORUMLOCK_NODES=" + list;
  }
  [[nodiscard]] Program start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), QUORUMLOCK_PROGRAM);
    return Program(arguments, {nodes()});
  }
  /// Starts `run`, which runs a script while it holds `resource`.
  [[nodiscard]] Program start_run(const std::string& resource, const std::string& script,
                                  std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {resource, "--", "sh", "-c", script});
    return start(flags);
  }
  [[nodiscard]] Ended run(const std::vector<std::string>& arguments) const {
    return start(arguments).finish();
  }
  /// Plants another client's lock on a quorum of nodes; nobody releases it.
  void hold(const std::string& resource) {
    for (int node = 0; node < cluster.quorum(); ++node) cluster.plant(node, resource);
  }
  /// Removes what hold() planted, and no vote that the other nodes may have given meanwhile.
  void let_go(const std::string& resource) {
    for (int node = 0; node < cluster.quorum(); ++node) cluster.raw(node, {"DEL", resource});
  }
  /// Returns once others have sent commands to the first node: somebody tries to lock.
  bool somebody_tries() {
    const long long before = cluster.commands(0);
    return eventually([&] { return cluster.commands(0) > before; });
  }
  [[nodiscard]] Fifo fifo() const { return Fifo(directory.path() / "fifo"); }

  TemporaryDirectory directory;
  Cluster cluster;
};

}  // namespace quorumlock::test
