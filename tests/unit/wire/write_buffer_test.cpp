#include "wire/write_buffer.hpp"

#include <gtest/gtest.h>

#include <string>

// The bytes that are to be written to a connection.
namespace quorumlock::test {
namespace {

using redis::WriteBuffer;

TEST(WriteBuffer, IsWrittenFromTheFront) {
  WriteBuffer buffer;
  buffer.text() += "abcdef";
  buffer.wrote(2);
  EXPECT_EQ(buffer.unwritten(), "cdef");
  buffer.text() += "gh";
  EXPECT_EQ(buffer.unwritten(), "cdefgh");
  buffer.wrote(5);
  EXPECT_EQ(buffer.unwritten(), "h");
  buffer.wrote(1);
  EXPECT_TRUE(buffer.unwritten().empty());
}

TEST(WriteBuffer, DoesNotGrowWithTheBytesWritten) {
  WriteBuffer buffer;
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    buffer.text() += "ten bytes.";
    buffer.wrote(i % 2 == 0 ? 7 : 13);
    most = std::max(most, buffer.text().size());
  }
  EXPECT_LT(most, 100U);
}

TEST(WriteBuffer, APasswordIsOverwrittenOnceAllIsWritten) {
  WriteBuffer buffer;
  buffer.add_login({"locker", "hunter2"});
  buffer.text() += "PING";
  const std::string_view memory(buffer.text().data(), buffer.text().size());
  buffer.wrote(memory.size() - 4);
  buffer.wrote(4);
  EXPECT_EQ(memory.find("hunter2"), memory.npos);
  // The next bytes have no password, and are not overwritten for nothing.
  buffer.text() += "PONG";
  buffer.wrote(4);
  EXPECT_EQ(memory.substr(1, 3), "ONG");
}

TEST(WriteBuffer, AClearedBufferIsOverwritten) {
  WriteBuffer buffer;
  buffer.add_login({"locker", "hunter2"});
  const std::string_view memory(buffer.text().data(), buffer.text().size());
  buffer.clear();
  EXPECT_TRUE(buffer.unwritten().empty());
  EXPECT_EQ(memory.find("hunter2"), memory.npos);
}

}  // namespace
}  // namespace quorumlock::test
