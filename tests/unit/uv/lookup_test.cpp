#include "uv/lookup.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <system_error>

#include "support/no_descriptors.hpp"
#include "support/uv_loop.hpp"

namespace quorumlock::uv {
namespace {

struct Heard final : Lookup::Listener {
  void on_part(const std::vector<Address>&) override {}
  void on_answer(const Resolved& its) override { answer = its; }
  std::optional<Resolved> answer;
};

TEST(LookupTest, WithoutADescriptorNothingIsSaidOfTheName) {
  // The hosts file cannot be opened, which does not show that it lacks the name.
  test::UvLoop loop;
  Open open;
  Heard heard;
  const std::unique_ptr<Lookup> lookup = lookup_on(loop.get(), open);
  {
    const test::NoDescriptors none;
    try {
      lookup->begin("localhost", heard);
      FAIL() << "the name was looked up";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code(), std::errc::too_many_files_open);
    }
  }
  EXPECT_FALSE(heard.answer);
  lookup->begin("localhost", heard);
  ASSERT_TRUE(heard.answer);
  EXPECT_FALSE(heard.answer->addresses.empty());
}

}  // namespace
}  // namespace quorumlock::uv
