#include "redis/info.hpp"

#include <gtest/gtest.h>

// What a server reports about itself.
namespace quorumlock::redis {
namespace {

TEST(Info, VersionIsTheServersOwn) {
  // Valkey also reports which Redis it is compatible with; that is not its version.
  EXPECT_EQ(version_of("# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"), "7.0.15");
  EXPECT_EQ(version_of("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\n"
                       "valkey_version:8.0.1\r\n"),
            "valkey 8.0.1");
  EXPECT_EQ(version_of("# Memory\r\nmaxmemory:0\r\n"), "");
}

}  // namespace
}  // namespace quorumlock::redis
