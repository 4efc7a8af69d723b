#include "members/enrolment_record.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

// The text of an enrolment record: reading and writing it.
namespace quorumlock::redis {
namespace {

TEST(EnrolmentRecords, AreReadAsTheyAreWritten) {
  // The texts include records with a floor and without one.
  for (const char* text : {"run1:abc@#00000000000000a1.0s.0000000000000b2c",
                           "run1:abc@#00000000000000a1.0s.0000000000000b2c:18446744073709551615:9",
                           "run1:abc@mark#00000000000000a1.12u.0000000000000b2c:1700:42"}) {
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
  const std::string mark = "#00000000000000a1.0s.0000000000000b2c";
  const auto with_mark = [&mark](const char* text) {
    std::string all = text;
    if (const std::size_t at = all.find('#'); at != all.npos) all.replace(at, 1, mark);
    return all;
  };
  ASSERT_TRUE(EnrolmentRecord::parse(with_mark("run1:abc@#")));
  // The last two are of earlier builds, whose records had their terms.
  for (const char* text :
       {"", "run1", ":abc@#", "run1:@#", "run1:abc#", "run1:abc@", "run1:abc@#:", "run1:abc@#:1700",
        "run1:abc@#:1700:", "run1:abc@#:x:42", "run1:abc@#:1700:42:1", "run1:abc@#x",
        "run1:abc@30000,86400@#", "run1:abc@30000,86400@mark#"}) {
    EXPECT_FALSE(EnrolmentRecord::parse(with_mark(text))) << text;
  }
  for (const char* text : {"run1:abc@#n1", "run1:abc@#00000000000000a1.0s"}) {
    EXPECT_FALSE(EnrolmentRecord::parse(text)) << text;
  }
}

}  // namespace
}  // namespace quorumlock::redis
