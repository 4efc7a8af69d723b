#include "verbs/dispatch.hpp"

#include <map>
#include <string>
#include <vector>

#include "support/engine_driver.hpp"
#include "support/session_driver.hpp"
#include "verbs/acquire.hpp"
#include "verbs/renew.hpp"

// Batches: few commands acquire, renew and release many locks.
namespace quorumlock::test {
namespace {

using redis::Batch;

core::Send sending(CommandKind kind, std::string_view key, std::string_view token,
                   std::uint64_t fence = 7) {
  core::Send send{};
  send.to = core::NodeSet::first(3);
  send.tag.kind = kind;
  send.lock.first = key;
  send.token = token;
  send.ttl = 12345ms;
  send.fence = fence;
  return send;
}
core::Send renewal(std::string_view key, std::string_view token, std::uint64_t fence = 7) {
  core::Send send = sending(CommandKind::renew, key, token, fence);
  send.replant = true;
  send.left = 6500ms;
  return send;
}

std::string bytes_of(const std::vector<core::Send>& sends, std::int64_t wall_us = 0) {
  Batch batch;
  for (const core::Send& send : sends) {
    EXPECT_TRUE(Batch::can_be(send));
    EXPECT_TRUE(batch.takes(send));
    batch.add(send);
  }
  std::string bytes;
  batch.append_to(bytes, {.wall_us = wall_us});
  return bytes;
}

TEST(Dispatch, OfRenewals) {
  // The keys are those of the locks; common arguments come once, and the time that each
  // lock has left is in us. Session and link append five words.
  Batch renewals;
  renewals.add(renewal("orders:42", "t0ken"));
  renewals.add(renewal("", "an0ther", 1'700'000'000'000'000));
  std::string bytes = "before";
  renewals.append_to(bytes, {});
  EXPECT_EQ(bytes, "before*18\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(redis::renew_script.sha1) +
                       "\r\n$1\r\n2\r\n$9\r\norders:42\r\n$0\r\n\r\n"
                       "$5\r\n12345\r\n$1\r\n1\r\n$5\r\nt0ken\r\n$1\r\n7\r\n"
                       "$7\r\n6500000\r\n$7\r\nan0ther\r\n$16\r\n1700000000000000\r\n"
                       "$7\r\n6500000\r\n");
  renewals.clear();
  EXPECT_TRUE(renewals.empty());
  core::Send whole = renewal("key", "t0ken");
  whole.tag.with_source = true;
  renewals.add(whole);
  bytes.clear();
  renewals.append_to(bytes, {});
  EXPECT_TRUE(bytes.starts_with("*14\r\n$4\r\nEVAL\r\n")) << bytes;
  EXPECT_NE(bytes.find(redis::renew_script.source), bytes.npos);
}

TEST(Dispatch, KeepsTheWordsOfTheFirst) {
  // The strings that a Send points to live until the engine's next input; the batch lives longer.
  for (const CommandKind kind : {CommandKind::acquire, CommandKind::release, CommandKind::renew}) {
    std::string key = "orders:42";
    std::string token = "t0ken";
    Batch batch;
    batch.add(sending(kind, key, token));
    key = "overwrit";
    token = "0verw";
    EXPECT_EQ(batch.first().lock.first, "orders:42");
    EXPECT_EQ(batch.first().token, "t0ken");
    batch.add(sending(kind, "stock:7", "an0ther"));
    std::string bytes;
    batch.append_to(bytes, {});
    EXPECT_EQ(bytes,
              bytes_of({sending(kind, "orders:42", "t0ken"), sending(kind, "stock:7", "an0ther")}));
  }
}

TEST(Dispatch, OfAcquisitionsAndReleases) {
  // The locks' keys are not KEYS, so that a user who may not touch one of them gets the others.
  EXPECT_EQ(bytes_of({sending(CommandKind::acquire, "orders:42", "t0ken"),
                      sending(CommandKind::acquire, "", "an0ther", 8)},
                     1'700'000'000'000'000),
            "*17\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(redis::acquire_script.sha1) +
                "\r\n$1\r\n0\r\n$5\r\n12345\r\n"
                "$16\r\n1700000000000000\r\n$1\r\n1\r\n$1\r\n8\r\n$9\r\norders:42\r\n$"
                "5\r\nt0ken\r\n"
                "$1\r\n7\r\n$0\r\n\r\n$7\r\nan0ther\r\n$1\r\n8\r\n");
  EXPECT_EQ(bytes_of({sending(CommandKind::release, "orders:42", "t0ken"),
                      sending(CommandKind::release, "", "an0ther")}),
            "*7\r\n$7\r\nEVALSHA\r\n$40\r\n" + std::string(redis::release_script.sha1) +
                "\r\n$1\r\n0\r\n$9\r\norders:42\r\n$5\r\nt0ken\r\n$0\r\n\r\n"
                "$7\r\nan0ther\r\n");
  // A node that does not know a script gets its source.
  core::Send bare = sending(CommandKind::acquire, "a", "t");
  bare.fenced = false;
  bare.tag.with_source = true;
  const std::string bytes = bytes_of({bare, bare});
  EXPECT_TRUE(
      bytes.ends_with("\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n7\r\n$1\r\na\r\n$1\r\nt\r\n$1\r\n7\r\n"
                      "$1\r\na\r\n$1\r\nt\r\n$1\r\n7\r\n"))
      << bytes;
  EXPECT_NE(bytes.find(redis::acquire_script.source), bytes.npos);
}

TEST(Dispatch, TakesCommandsThatAreOtherwiseAlike) {
  // A batch takes commands of one kind to the same nodes, with the same ttl, up to a maximum.
  for (const CommandKind kind : {CommandKind::renew, CommandKind::acquire, CommandKind::release}) {
    const core::Send one = sending(kind, "a", "t");
    Batch batch;
    EXPECT_TRUE(batch.takes(one));
    batch.add(one);
    EXPECT_TRUE(batch.takes(sending(kind, "b", "u", 8)));
    std::vector<core::Send> others(6, one);
    others[0].to.remove(2);
    others[1].ttl += 1ms;
    others[2].replant = true;
    others[3].tag.with_source = true;
    others[4].fenced = false;
    others[5].tag.kind = kind == CommandKind::renew ? CommandKind::release : CommandKind::renew;
    for (const core::Send& other : others) EXPECT_FALSE(batch.takes(other));
    const std::size_t most =
        kind == CommandKind::renew ? redis::renew::batch.most : redis::acquire::batch.most;
    while (batch.tags().size() < most) {
      ASSERT_TRUE(batch.takes(one));
      batch.add(one);
    }
    EXPECT_FALSE(batch.takes(one));
  }
}

TEST(Dispatch, IsOfPlainLocksOutsideOfLines) {
  const std::vector<std::string> more = {"c"};
  for (const CommandKind kind : {CommandKind::renew, CommandKind::acquire, CommandKind::release}) {
    const core::Send one = sending(kind, "a", "t");
    EXPECT_TRUE(Batch::can_be(one));
    std::vector<core::Send> never(4, one);
    never[0].lock.others = more;
    never[1].lock.permit.capacity = 3;
    never[2].lock.mode = LockMode::shared;
    never[3].lock.by_token = true;
    for (const core::Send& other : never) EXPECT_FALSE(Batch::can_be(other));
  }
  // A probe stands in no line, so it may be in a batch.
  core::Send ordered = sending(CommandKind::acquire, "a", "t");
  ordered.ordered = true;
  EXPECT_TRUE(Batch::can_be(ordered));
  ordered.place.number = 7;
  EXPECT_FALSE(Batch::can_be(ordered));
  core::Send leaves = sending(CommandKind::release, "a", "t");
  leaves.place.number = 7;
  EXPECT_FALSE(Batch::can_be(leaves));
  leaves.place.number = 0;
  leaves.not_woken.number = 8;
  EXPECT_FALSE(Batch::can_be(leaves));
  for (const CommandKind kind : {CommandKind::set, CommandKind::raise}) {
    EXPECT_FALSE(Batch::can_be(sending(kind, "a", "t")));
  }
}

}  // namespace
}  // namespace quorumlock::test
