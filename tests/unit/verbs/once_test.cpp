#include "verbs/once.hpp"

#include "unit/verbs/calls.hpp"

namespace quorumlock::test {
namespace {

std::string asked(std::optional<std::uint64_t> period) {
  std::string bytes;
  redis::once::append(
      bytes, {.key = "orders:42", .owner = "mine", .fence = 77, .keep = 48h, .period = period});
  redis::append_word(bytes, "run1:abc");
  redis::append_word(bytes, "5");
  redis::append_number(bytes, 86'400'000);
  redis::append_number(bytes, 3'600'000);
  return bytes;
}

TEST(Once, AsksOrNotesAPeriod) {
  EXPECT_EQ(asked(std::nullopt),
            vote_call({"EVAL", redis::once_script.source, "3", orders_counter,
                       "quorumlock:once:orders:42", "orders:42", "77", "", "172800000", "mine"}));
  EXPECT_EQ(asked(9'007'199'254'740'991),
            vote_call({"EVAL", redis::once_script.source, "3", orders_counter,
                       "quorumlock:once:orders:42", "orders:42", "77", "9007199254740991",
                       "172800000", "mine"}));
}

}  // namespace
}  // namespace quorumlock::test
