#include "wire/client_name.hpp"

#include <gtest/gtest.h>

namespace quorumlock::test {
namespace {

using redis::ClientName;

TEST(ClientName, IsReadAsItIsWritten) {
  for (const bool knows : {false, true}) {
    for (const bool enrols : {false, true}) {
      const ClientName name{"0123456789abcdef", knows, enrols};
      EXPECT_EQ(ClientName::parse(name.to_string()), name) << name.to_string();
    }
  }
  EXPECT_EQ((ClientName{"0123", true, true}).to_string(), "quorumlock:0123:knows:enrols");
  EXPECT_FALSE(ClientName::parse("somebody"));
  EXPECT_FALSE(ClientName::parse(""));
}

TEST(ClientName, OurConnectionsAreFoundAmongOthers) {
  const auto found = redis::connected_clients(
      "id=3 addr=10.0.0.1:50000 laddr=10.0.0.9:6379 fd=8 name=quorumlock:0123:knows age=1\n"
      "id=4 addr=10.0.0.2:50001 name= age=2\n"
      "id=5 addr=10.0.0.3:50002 name=cache\n"
      "id=6 addr=/tmp/redis.sock:0 name=quorumlock:4567:enrols user=operator\n");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].id, "3");
  EXPECT_EQ(found[0].address, "10.0.0.1:50000");
  EXPECT_EQ(found[0].name, (ClientName{"0123", true, false}));
  EXPECT_EQ(found[1].address, "/tmp/redis.sock:0");
  EXPECT_EQ(found[1].name, (ClientName{"4567", false, true}));
}

}  // namespace
}  // namespace quorumlock::test
