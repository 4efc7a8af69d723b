#include "admin/lock_list.hpp"

#include <gtest/gtest.h>

#include "support/allocated.hpp"
#include "support/reply_bytes.hpp"
#include "wire/reply.hpp"

namespace quorumlock::test {
namespace {

using namespace std::chrono_literals;
using detail::LockCount;

const std::string web = std::string(40, 'a') + "@web-3:812";
const std::string other(40, 'b');

/// A reply of a node as the operator's library gets it.
detail::NodeReply kept(const redis::Reply& reply) {
  detail::NodeReply copy{
      static_cast<detail::NodeReply::Type>(reply.type), reply.integer, std::string(reply.text), {}};
  for (const redis::Reply& element : reply.elements) copy.elements.push_back(kept(element));
  return copy;
}

std::string bulks(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += bulk(word);
  return bytes;
}

std::string held(const std::string& key, const std::vector<std::string>& holders,
                 const std::string& pttl = "900", const std::string& fence = "1699999988000000",
                 const std::string& kind = "string", bool leads = false) {
  return "*9\r\n" + bulk(key) + bulk(kind) + ":" + pttl + "\r\n" + bulk(fence) + ":3\r\n" +
         bulks(holders) + (leads ? ":1\r\n" : ":0\r\n") + bulk("w0123456789abcdef.7@web-4:1") +
         bulk(leads ? "10.0.0.3:9000" : "");
}

/// Adds a page of a node whose clock says 1,700,000,000 s.
std::string add(LockCount& count, int node, const std::vector<std::string>& locks,
                const std::string& cursor = "0") {
  std::string bytes =
      "*" + std::to_string(2 + locks.size()) + "\r\n" + bulk(cursor) + ":1700000000000000\r\n";
  for (const std::string& lock : locks) bytes += lock;
  redis::ReplyReader reader;
  reader.feed(bytes);
  const redis::Reply* reply = reader.next();
  EXPECT_NE(reply, nullptr) << bytes;
  return reply == nullptr ? "" : count.add(node, kept(*reply));
}

TEST(LockList, ALockIsHeldOnAQuorum) {
  LockCount count("app:", "north");
  EXPECT_EQ(add(count, 0, {held("app:orders", {web}), held("app:few", {web})}, "17"), "17");
  EXPECT_EQ(add(count, 1, {held("app:orders", {web}, "700")}), "0");
  EXPECT_EQ(add(count, 2, {held("app:orders", {other}), held("strange", {web})}), "0");
  const std::vector<HeldLock> all = count.on(2);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].resource, "orders");
  EXPECT_EQ(all[0].group, "north");
  EXPECT_EQ(all[0].label, "web-3:812");
  EXPECT_EQ(all[0].token_begin, "aaaaaaaa");
  EXPECT_EQ(all[0].held_for, 12s);
  EXPECT_EQ(all[0].expires_in, 700ms);
  EXPECT_EQ(all[0].waiters, 3);
  EXPECT_EQ(all[0].next_waiter, "web-4:1");
  EXPECT_EQ(all[0].fencing_token, 1699999988000000U);
  EXPECT_EQ(all[0].nodes, 2);
}

TEST(LockList, ALeaderIsOneForAQuorum) {
  // An announcement that has reached one node only, or that one node has made up, does not count.
  const auto led = [](const std::string& key, bool leads) {
    return held(key, {web}, "900", "1699999988000000", "string", leads);
  };
  LockCount count("", "");
  add(count, 0, {led("billing", true), led("few", true), led("lock", false)});
  add(count, 1, {led("billing", true), led("few", false), led("lock", false)});
  const std::vector<HeldLock> all = count.on(2);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[0].leads);
  EXPECT_EQ(all[0].leader_value, "10.0.0.3:9000");
  EXPECT_FALSE(all[1].leads);
  EXPECT_FALSE(all[2].leads);
}

TEST(LockList, ANodeCountsOnce) {
  // SCAN may return a key twice.
  LockCount count("", "");
  add(count, 0, {held("orders", {web}), held("orders", {web})}, "5");
  add(count, 0, {held("orders", {web})});
  EXPECT_TRUE(count.on(2).empty());
  EXPECT_EQ(count.on(1).size(), 1U);
}

TEST(LockList, ReadersAndPermitsAreListedEach) {
  LockCount count("", "");
  add(count, 0,
      {held("orders", {web, "1700000000900", other, "1600000000000"}, "900", "41", "readers"),
       held("quorumlock:permit:pool:7:2", {other}, "-1", "")});
  const std::vector<HeldLock> all = count.on(1);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].mode, LockMode::shared);
  EXPECT_EQ(all[0].label, "web-3:812");
  EXPECT_EQ(all[0].expires_in, 900ms);
  EXPECT_EQ(all[0].fencing_token, 0U);
  EXPECT_EQ(all[1].resource, "pool:7");
  EXPECT_EQ(all[1].permit, 2);
  EXPECT_EQ(all[1].token_begin, "bbbbbbbb");
  EXPECT_EQ(all[1].expires_in, std::nullopt);
}

TEST(LockList, AReaderThatWasSetAnewIsListed) {
  // An end may be any number that a sorted set can have.
  LockCount count("", "");
  add(count, 0, {held("orders", {web, "1700000000900.5"}, "900", "41", "readers")});
  const std::vector<HeldLock> all = count.on(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].expires_in, 900ms);
}

TEST(LockList, AnOddReplyEndsTheScanOfItsNode) {
  LockCount count("", "");
  redis::ReplyReader reader;
  reader.feed("*1\r\n$1\r\n0\r\n");
  EXPECT_EQ(count.add(0, kept(*reader.next())), "");
  EXPECT_EQ(add(count, 0, {"*1\r\n:1\r\n"}), "");
}

TEST(LockList, ANodeIsAskedNoMoreIfItReportsTooMuch) {
  // A lock that a node reports twice counts once; other nodes are still asked.
  LockCount count("", "");
  add(count, 0, {held("a", {web}), held("b", {web}), held("b", {web})}, "5");
  EXPECT_FALSE(count.is_full(0, 2));
  add(count, 0, {held("c", {web})}, "6");
  EXPECT_TRUE(count.is_full(0, 2));
  EXPECT_FALSE(count.is_full(1, 2));
}

TEST(LockList, AHostileNodeCannotFillTheMemory) {
  // The node's names are as long as a reply may be. The node is cut off after 16 MiB of them, and
  // what is kept of them by then is a small multiple of that.
  LockCount count("", "");
  const std::size_t before = allocated();
  int pages = 0;
  for (; pages < 1000 && !count.is_full(0, 10'000); ++pages) {
    std::vector<std::string> locks;
    for (char end : {'a', 'b', 'c', 'd'}) {
      locks.push_back(held(std::to_string(pages) + std::string(250'000, end), {web}));
    }
    ASSERT_EQ(add(count, 0, locks, "5"), "5");
  }
  EXPECT_EQ(pages, 17);
  EXPECT_LT(allocated() - before, 3 * LockCount::most_bytes);
}

TEST(LockList, ANodeThatSendsPagesWithoutEndIsGivenUp) {
  // A quorum of the others has ended, and the node has sent far more pages.
  LockCount count("", "");
  add(count, 0, {held("a", {web})});
  count.end(0);
  add(count, 1, {held("a", {web})}, "5");
  add(count, 1, {held("b", {web})});
  const std::size_t most = LockCount::always_allowed_pages + 2 * LockCount::pages_to_one_of_others;
  for (std::size_t page = 0; page < most; ++page) add(count, 2, {}, "5");
  EXPECT_FALSE(count.is_endless(2, 2));
  count.end(1);
  EXPECT_FALSE(count.is_endless(2, 2));
  add(count, 2, {}, "5");
  EXPECT_TRUE(count.is_endless(2, 2));
  EXPECT_FALSE(count.is_endless(1, 2));
}

TEST(LockList, ACursorIsANumber) {
  LockCount count("", "");
  EXPECT_EQ(add(count, 0, {}, "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(add(count, 0, {}, std::string(1000, '7')), "");
}

}  // namespace
}  // namespace quorumlock::test
