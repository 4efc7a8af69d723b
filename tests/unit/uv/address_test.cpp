#include "uv/address.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <string>

namespace quorumlock::uv {
namespace {

std::string read_and_written(const std::string& text) {
  const std::optional<Address> address = Address::parse(text);
  return address ? address->text() : "a name";
}

TEST(Address, IsReadAndWritten) {
  EXPECT_EQ(read_and_written("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(read_and_written("127.1"), "127.0.0.1");
  EXPECT_EQ(read_and_written("0:0::1"), "::1");
  EXPECT_EQ(read_and_written("fe80::1%lo"), "fe80::1%lo");
  EXPECT_EQ(read_and_written("fe80::1%1"), "fe80::1%lo");
  for (const char* name : {"localhost", "lock1.example", "1.example", "fe80", "::1.example"}) {
    EXPECT_EQ(read_and_written(name), "a name") << name;
  }
}

TEST(Address, ALinkLocalOneNeedsAnInterfaceThatExists) {
  EXPECT_FALSE(Address::parse("fe80::1%lo")->lacks_zone());
  EXPECT_TRUE(Address::parse("fe80::1")->lacks_zone());
  EXPECT_TRUE(Address::parse("fe80::1%no-such-one")->lacks_zone());
  EXPECT_FALSE(Address::parse("::1")->lacks_zone());
  EXPECT_FALSE(Address::parse("169.254.0.1")->lacks_zone());
}

TEST(Address, IsTheSameWhateverItsPort) {
  sockaddr_in6 from{};
  from.sin6_family = AF_INET6;
  from.sin6_addr = in6addr_loopback;
  from.sin6_port = htons(6379);
  from.sin6_flowinfo = 7;
  const Address address(reinterpret_cast<const sockaddr&>(from));
  EXPECT_EQ(address, *Address::parse("::1"));
  EXPECT_NE(address, *Address::parse("::2"));
  EXPECT_NE(*Address::parse("fe80::1"), *Address::parse("fe80::1%lo"));
}

TEST(Address, APathMayBeTooLong) {
  EXPECT_EQ(Address::of_path("/run/redis.sock")->text(), "/run/redis.sock");
  EXPECT_TRUE(Address::of_path(std::string(107, 'x')));
  EXPECT_FALSE(Address::of_path(std::string(108, 'x')));
}

}  // namespace
}  // namespace quorumlock::uv
