#pragma once

#include <string>

#include "integration/fixture.hpp"

namespace quorumlock::test {

/// Names for several locks at once, on five nodes.
class Several : public FiveNodes {
 protected:
  const std::string a = key + "/a";
  const std::string b = key + "/b";
  const std::string c = key + "/c";

  /// Returns once each node has `count` entries in the line of this resource.
  static void see_waiters(const std::string& resource, long long count) {
    ASSERT_TRUE(eventually([&] {
      for (int node = 0; node < 5; ++node) {
        if (cluster().raw(node, {"ZCARD", "quorumlock:queue:" + resource}).integer != count) {
          return false;
        }
      }
      return true;
    })) << count
        << " waiters for " << resource;
  }
};

}  // namespace quorumlock::test
