#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/command.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::redis {
namespace {

constexpr std::string_view semaphore = "quorumlock:semaphore:orders:42";
constexpr std::string_view its_counter = "quorumlock:fence:quorumlock:semaphore:orders:42";
constexpr std::string_view slot_seven = "quorumlock:permit:7:orders:42";

/// The bytes of a command for the seventh of twelve permits.
std::string said(core::CommandKind kind) {
  core::Send send;
  send.tag.kind = kind;
  send.key = semaphore;
  send.token = "t0ken";
  send.ttl = std::chrono::milliseconds(12345);
  send.fence = 77;
  send.capacity = 12;
  send.slot = 7;
  std::string bytes;
  append_command(bytes, send, {1'700'000, {}});
  return bytes;
}

/// A command of these words, announced with `own` more words that the node's link will append.
std::string vote_of(std::vector<std::string_view> words, std::size_t own = 2) {
  std::string bytes = "*" + std::to_string(words.size() + own) + "\r\n";
  for (const std::string_view word : words) append_word(bytes, word);
  return bytes;
}

TEST(CommandOfAPermit, HasTheKeyOfItsSlot) {
  // The counter and the line are those of the semaphore.
  EXPECT_EQ(said(core::CommandKind::acquire),
            vote_of({"EVALSHA", acquire_permit_script.sha1, "3", semaphore, its_counter,
                     "quorumlock:enrolment", "t0ken", "12345", "77", "1700000", "86400000", "1", "",
                     "0", "0", "7", "12"}));
  EXPECT_EQ(said(core::CommandKind::raise),
            vote_of({"EVALSHA", raise_script.sha1, "3", slot_seven, its_counter,
                     "quorumlock:enrolment", "t0ken", "77", "86400000"}));
  EXPECT_EQ(
      said(core::CommandKind::renew),
      vote_of({"EVALSHA", renew_permit_script.sha1, "4", slot_seven, its_counter,
               "quorumlock:enrolment", semaphore, "t0ken", "12345", "77", "0", "86400000", "12"},
              3));
  std::string release;
  append_command(release,
                 {"EVALSHA", release_permit_script.sha1, "1", semaphore, "t0ken", "7", "", ""});
  EXPECT_EQ(said(core::CommandKind::release), release);
}

}  // namespace
}  // namespace quorumlock::redis
