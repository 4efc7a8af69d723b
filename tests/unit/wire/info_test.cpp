#include "wire/info.hpp"

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

TEST(Info, ModeHasAnotherNameOnValkey) {
  EXPECT_EQ(mode_of("# Server\r\nredis_version:7.0.15\r\nredis_mode:cluster\r\n"), "cluster");
  EXPECT_EQ(mode_of("# Server\r\nvalkey_version:8.0.1\r\nserver_mode:cluster\r\n"), "cluster");
  EXPECT_EQ(mode_of("# Memory\r\nmaxmemory:0\r\n"), "");
}

TEST(Info, KnowsWhichVersionsAreTooOld) {
  // Redis 7.0 and Valkey 7.2 are the oldest versions; a version that cannot be parsed is not
  // refused.
  for (const char* old : {"2.8.4", "5.0.14", "6.0.16", "6.2.99", "valkey 7.1.9", "valkey 6.9.0"}) {
    EXPECT_TRUE(is_too_old(old)) << old;
  }
  for (const char* fine :
       {"7.0.0", "7.0.15", "10.0.0", "valkey 7.2.4", "valkey 8.0.1", "", "new"}) {
    EXPECT_FALSE(is_too_old(fine)) << fine;
  }
  EXPECT_EQ(too_old("6.2.14").substr(0, 16), "is Redis 6.2.14,");
}

}  // namespace
}  // namespace quorumlock::redis
