#include "members/enrolment_record.hpp"

#include <gtest/gtest.h>

#include <optional>

// The text of an enrolment record: reading and writing it.
namespace quorumlock::redis {
namespace {

TEST(EnrolmentRecords, AreReadAsTheyAreWritten) {
  // The texts include records with a floor and without one.
  for (const char* text :
       {"run1:abc@30000,86400", "run1:abc@1,86400", "run1:abc@30000,86400:1700:42",
        "run1:abc@30000,86400:18446744073709551615:9",
        "run1:abc@30000,4@#00000000000000a1.0s.0000000000000b2c",
        "run1:abc@30000,86400@mark#00000000000000a1.12u.0000000000000b2c:1700:42"}) {
    const std::optional<EnrolmentRecord> record = EnrolmentRecord::parse(text);
    ASSERT_TRUE(record) << text;
    EXPECT_EQ(record->to_string(), text);
  }
}

TEST(EnrolmentRecords, BelongToOneRunAndToItsLastPromotion) {
  // An hour after a promotion the node no longer reports it; its record stays as it is.
  EXPECT_TRUE(is_this_run("run1", "run1"));
  EXPECT_TRUE(is_this_run("run1+12345678", "run1+12345678"));
  EXPECT_TRUE(is_this_run("run1+12345678", "run1"));
  EXPECT_FALSE(is_this_run("run1", "run1+12345678"));
  EXPECT_FALSE(is_this_run("run1+12345678", "run1+9abcdef0"));
  EXPECT_FALSE(is_this_run("run12", "run1"));
  EXPECT_FALSE(is_this_run("run2+12345678", "run1"));
}

TEST(EnrolmentRecords, TextThatIsNoRecordIsNotRead) {
  // A text that is not a record enrols nobody, whoever wrote it.
  for (const char* text : {"",
                           "run1",
                           "run1:30000",
                           ":30000,86400",
                           "run1:",
                           "run1:abc@0,86400",
                           "run1:abc@-5,86400",
                           "run1:30000:",
                           "run1:abc@30000,86400:Durable",
                           "run1:abc@30000,86400:",
                           "run1:abc@30000,86400:1700",
                           "run1:abc@30000,86400:1700:",
                           "run1:abc@30000,86400:x:42",
                           "run1:abc@30000,86400:1700:42:1",
                           "run1:30000,86400",
                           "run1:@30000,86400",
                           "run1: 30000,86400",
                           "run1:30000s,86400",
                           "run1:30000",
                           "run1:abc@30000,86400#n1",
                           "run1:abc@30000,86400@#",
                           "run1:abc@30000,86400@"}) {
    EXPECT_FALSE(EnrolmentRecord::parse(text)) << text;
  }
}

}  // namespace
}  // namespace quorumlock::redis
