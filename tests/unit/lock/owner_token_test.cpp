#include "lock/owner_token.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/seeded_random.hpp"

namespace quorumlock::core {
namespace {

const std::string digits = "0123456789abcdef0123456789abcdef01234567";

TEST(OwnerToken, IsFortyDigitsAndTheLabel) {
  test::SeededRandom random(1);
  TokenMaker maker("web-3:812", random);
  const std::string first(maker.draw());
  const TokenParts owner = TokenParts::read(first);
  EXPECT_EQ(owner.digits.size(), 40U);
  EXPECT_EQ(owner.label, "web-3:812");
  EXPECT_EQ(first, std::string(owner.digits) + "@web-3:812");
  EXPECT_NE(maker.draw(), first);
  TokenMaker unnamed("", random);
  EXPECT_EQ(unnamed.draw().size(), 40U);
}

TEST(OwnerToken, ALabelIsPrintableAndShort) {
  EXPECT_EQ(label_from("a b@c\n\xc3\xa4~"), "a_b_c___~");
  EXPECT_EQ(label_from(std::string(100, 'x')), std::string(64, 'x'));
  EXPECT_EQ(label_from(""), "");
}

TEST(OwnerToken, OfAnotherLibraryIsNotTakenApart) {
  for (const std::string& other : {std::string(), digits.substr(1), digits + "0", digits + ":label",
                                   std::string(40, 'g'), "label@" + digits, std::string(40, 'A')}) {
    EXPECT_EQ(TokenParts::read(other).digits, "") << other;
    EXPECT_EQ(TokenParts::read(other).label, "") << other;
  }
  EXPECT_EQ(TokenParts::read(digits).digits, digits);
  EXPECT_EQ(TokenParts::read(digits + "@").label, "");
}

TEST(OwnerToken, AWaiterHasALabelAfterItsName) {
  EXPECT_EQ(waiters_label("w0123456789abcdef.7@web-3:812"), "web-3:812");
  EXPECT_EQ(waiters_label("w0123456789abcdef.7"), "");
  EXPECT_EQ(waiters_label("w0123456789abcdef.7@we\x1b"
                          "b@" +
                          std::string(100, 'x')),
            "we_b_" + std::string(59, 'x'));
}

TEST(OwnerToken, AHolderIsDescribedWithoutItsDigits) {
  EXPECT_EQ(describe_holder(digits + "@web-3:812"), "web-3:812");
  EXPECT_EQ(describe_holder(digits + "@we\nb"), "we_b");
  EXPECT_EQ(describe_holder(digits), "the token 01234567...");
  // What another program has is named by its kind and its length, as a node reports them.
  EXPECT_EQ(describe_holder("string 36"), "another program's value (a string of 36 bytes)");
  EXPECT_EQ(describe_holder("hash"), "another program's value (a hash)");
  for (const char* other : {"their\x1btoken", "", "UPPER 5", "string x"}) {
    EXPECT_THAT(describe_holder(other), ::testing::StartsWith("another program's value"));
    EXPECT_THAT(describe_holder(other), ::testing::Not(::testing::HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace quorumlock::core
