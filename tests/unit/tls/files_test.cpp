#include "tls/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "local/temporary_directory.hpp"

namespace quorumlock::test {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;
using tls::Files;

class FilesTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  static std::string trouble_of(const TlsOptions& options) {
    const auto files = Files::read(options);
    return files->trouble() ? files->trouble()->what() : "none";
  }

  local::TemporaryDirectory directory_;
};

TEST_F(FilesTest, AreWhatTheOptionsName) {
  const TlsOptions options{.ca_file = write("ca", "an authority"),
                           .ca_dir = directory_.path() / "dir",
                           .cert_file = write("cert", "ours"),
                           .key_file = write("key", "secret")};
  write("dir/0a1b2c3d.0", "one");
  write("dir/0a1b2c3d.1", "two");
  write("dir/readme", "three");
  const auto files = Files::read(options);
  EXPECT_FALSE(files->trouble());
  EXPECT_EQ(files->ca_file(), "an authority");
  EXPECT_EQ(files->cert_file(), "ours");
  EXPECT_EQ(files->key_file(), "secret");
  EXPECT_THAT(files->ca_dir(), UnorderedElementsAre("one", "two"));
  EXPECT_FALSE(Files::are_named_by({.server_name = "n1"}));
  EXPECT_TRUE(Files::are_named_by({.key_file = "/key"}));
}

TEST_F(FilesTest, AreReadAgainOnceTheyHaveChanged) {
  const TlsOptions options{.ca_file = write("ca", "an authority")};
  const auto first = Files::read(options);
  EXPECT_EQ(Files::read(options, first), first);
  EXPECT_TRUE(Files::read(options)->are_as(*first));
  write("ca", "another authority");
  const auto next = Files::read(options, first);
  EXPECT_EQ(next->ca_file(), "another authority");
  EXPECT_FALSE(next->are_as(*first));
}

TEST_F(FilesTest, AnErrorNamesTheOptionAndTheReason) {
  EXPECT_EQ(
      trouble_of({.ca_file = directory_.path()}),
      "tls.ca_file is \"" + directory_.path().string() + "\": it cannot be read: Is a directory");
  EXPECT_EQ(trouble_of({.cert_file = "/nowhere/c", .key_file = "/nowhere/k"}),
            "tls.cert_file is \"/nowhere/c\": it cannot be read: No such file or directory");
  EXPECT_THAT(trouble_of({.key_file = write("key", std::string((16 << 20) + 1, 'k'))}),
              HasSubstr("it is larger than 16 MiB"));
}

}  // namespace
}  // namespace quorumlock::test
