#include "loop/password_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "unit/support/refusal.hpp"

namespace quorumlock::detail {
namespace {

std::string text_of(const Result<redis::Secret>& password) {
  return password ? std::string(std::string_view(*password)) : password.error().what();
}

class PasswordFile : public testing::Test {
 protected:
  PasswordFile() {
    std::string made = std::filesystem::temp_directory_path() / "quorumlock-XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("cannot make a directory");
    directory = made;
    path = directory / "password";
  }
  ~PasswordFile() override { std::filesystem::remove_all(directory); }

  std::string write(std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::filesystem::path directory;
  std::string path;
};

TEST_F(PasswordFile, IsReadWithoutTheEndOfItsLine) {
  // Editors and echo end a file with a line's end; everything else belongs to the password.
  EXPECT_EQ(text_of(read_password(write("hunter2"))), "hunter2");
  EXPECT_EQ(text_of(read_password(write("hunter2\n"))), "hunter2");
  EXPECT_EQ(text_of(read_password(write("hunter2\r\n"))), "hunter2");
  EXPECT_EQ(text_of(read_password(write(" a\nb \n"))), " a\nb ");
  const std::string longest(std::size_t{64} << 10, 'x');
  EXPECT_EQ(text_of(read_password(write(longest))), longest);
}

TEST_F(PasswordFile, IsRefusedInASentenceThatNamesIt) {
  // The file is missing, empty or very large, or is no regular file: none of these blocks.
  EXPECT_TRUE(contains(error_of(read_password(path)), "password\" cannot be read: No such file"));
  EXPECT_TRUE(contains(error_of(read_password(write(""))), "is empty"));
  EXPECT_TRUE(contains(error_of(read_password(write("\n"))), "is empty"));
  const std::string larger((std::size_t{64} << 10) + 1, 'x');
  EXPECT_TRUE(contains(error_of(read_password(write(larger))), "is larger than 64 KiB"));
  EXPECT_TRUE(contains(error_of(read_password(directory)), "is not a file"));
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(contains(error_of(read_password(pipe)), "is not a file"));
  // The first page of a process's memory is a file that can be opened and not read.
  EXPECT_TRUE(contains(error_of(read_password("/proc/self/mem")), "cannot be read: Input/output"));
}

}  // namespace
}  // namespace quorumlock::detail
