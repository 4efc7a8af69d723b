#include "api/look.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/reply_bytes.hpp"
#include "wire/reply.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;
using test::bulk;
using testing::IsEmpty;

const std::string a_token = "0123456789abcdef0123456789abcdef01234567@web-3:812";

/// Decodes the bytes of an answer of inspect.lua.
NodeHolding holding(const std::string& bytes) {
  redis::ReplyReader reader;
  reader.feed(bytes);
  const redis::Reply* reply = reader.next();
  NodeHolding found;
  EXPECT_TRUE(reply != nullptr && holding_of(*reply, found)) << bytes;
  return found;
}

std::string array(const std::vector<std::string>& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += bulk(word);
  return bytes;
}

std::string answer(const std::string& kind, const std::string& value, const std::string& pttl,
                   const std::vector<std::string>& readers, const std::vector<std::string>& line,
                   const std::string& semaphore = ":0\r\n*0\r\n*0\r\n",
                   const std::string& fence = "") {
  return "*10\r\n:1700000000000000\r\n" + bulk(kind) + bulk(value) + ":" + pttl + "\r\n" +
         array(readers) + array(line) + semaphore + bulk(fence);
}

TEST(Look, AFreeLockHasNoHolder) {
  // The key does not exist.
  const NodeHolding found = holding(answer("none", "", "-2", {}, {}));
  EXPECT_EQ(found.vote, Vote::absent);
  EXPECT_FALSE(found.expires_in.has_value());
  EXPECT_THAT(found.waiters, IsEmpty());
}

TEST(Look, ALockInItsLastMillisecondExpires) {
  // PTTL rounds down to 0, and only negative replies mean that there is no expiry.
  EXPECT_EQ(holding(answer("string", a_token, "0", {}, {})).expires_in, 0ms);
  EXPECT_EQ(holding(answer("string", a_token, "-1", {}, {})).expires_in, std::nullopt);
}

TEST(Look, TheWaitersOfALineAreRead) {
  // There are two waiters of one process; one ticket is ahead of this node's clock, so its age is 0
  // ms.
  const NodeHolding found =
      holding(answer("string", a_token, "900", {},
                     {"w0123456789abcdef.4@web-3:812", "1699999998500000", "1700000002000",
                      "r0123456789abcdef.5", "1700000000000900", "1700000003000"}));
  EXPECT_EQ(found.vote, Vote::held);
  EXPECT_EQ(found.token, a_token);
  EXPECT_EQ(found.expires_in, 900ms);
  ASSERT_EQ(found.waiters.size(), 2U);
  EXPECT_EQ(found.waiters[0].name, "w0123456789abcdef.4");
  EXPECT_EQ(found.waiters[0].process, "0123456789abcdef");
  EXPECT_EQ(found.waiters[0].label, "web-3:812");
  EXPECT_EQ(found.waiters[1].label, "");
  EXPECT_EQ(found.waiters[0].mode, LockMode::exclusive);
  EXPECT_EQ(found.waiters[0].ticket, 1699999998500000U);
  EXPECT_EQ(found.waiters[0].waiting_for, 1500ms);
  EXPECT_EQ(found.waiters[0].expires_in, 2000ms);
  EXPECT_EQ(found.waiters[1].process, found.waiters[0].process);
  EXPECT_EQ(found.waiters[1].mode, LockMode::shared);
  EXPECT_EQ(found.waiters[1].waiting_for, 0ms);
}

TEST(Look, AFencingTokenShowsForHowLongTheLockIsHeld) {
  // The token is the time of the acquisition in us, unless the counters are ahead of the clocks.
  const auto held_for = [](const std::string& kind, const std::string& fence) {
    return holding(answer(kind, a_token, "900", {}, {}, ":0\r\n*0\r\n*0\r\n", fence)).held_for;
  };
  EXPECT_EQ(held_for("string", "1699999988000000"), 12s);
  EXPECT_EQ(held_for("string", "1700000000000001"), std::nullopt);
  EXPECT_EQ(held_for("string", ""), std::nullopt);
  EXPECT_EQ(held_for("string", "x"), std::nullopt);
  EXPECT_EQ(
      holding(answer("none", "", "-2", {}, {}, ":0\r\n*0\r\n*0\r\n", "1699999988000000")).held_for,
      std::nullopt);
}

const std::string first(40, '1');
const std::string second = std::string(40, '2') + "@web-3:812";

TEST(Look, AllReadersAreRead) {
  // Readers are a sorted set of owner tokens, so that several share the lock.
  const NodeHolding found = holding(
      answer("readers", "", "4000",
             {first, "1700000001000", "another program's", "1", second, "1700000004000"}, {}));
  EXPECT_EQ(found.vote, Vote::held);
  EXPECT_EQ(found.token, "");
  ASSERT_EQ(found.readers.size(), 2U);
  EXPECT_EQ(found.readers[0].token, first);
  EXPECT_EQ(found.readers[1].expires_in, 4000ms);
}

TEST(Look, OtherValuesAndRepliesAreNotLocks) {
  // There is a hash under the key, or the reply does not come from inspect.lua.
  const NodeHolding found = holding(answer("hash", "hash", "-1", {}, {}));
  EXPECT_EQ(found.vote, Vote::held);
  EXPECT_EQ(found.detail, "another program's value (a hash)");
  const NodeHolding text = holding(answer("string", "string 36", "-1", {}, {}));
  EXPECT_EQ(text.token, "");
  EXPECT_EQ(text.detail, "another program's value (a string of 36 bytes)");
  EXPECT_FALSE(found.expires_in.has_value());
  NodeHolding nothing;
  for (const redis::Reply::Type type : {redis::Reply::Type::array, redis::Reply::Type::integer}) {
    EXPECT_FALSE(holding_of({type, 0, "", {}}, nothing));
  }
}

TEST(Look, ThePermitsOfASemaphoreAreRead) {
  // Two of three permits are held, one of them without an expiry, and there is a waiter for the
  // third; the lock of the same name is free.
  const std::string permits =
      "*6\r\n:1\r\n" + bulk(first) + ":900\r\n:3\r\n" + bulk("string 9") + ":-1\r\n";
  const NodeHolding found = holding(answer(
      "none", "", "-2", {}, {},
      ":3\r\n" + permits + array({"w0123456789abcdef.4", "1699999999000000", "1700000002000"})));
  EXPECT_EQ(found.vote, Vote::absent);
  EXPECT_THAT(found.waiters, IsEmpty());
  EXPECT_TRUE(found.semaphore.known());
  EXPECT_EQ(found.semaphore.capacity, 3);
  ASSERT_EQ(found.semaphore.permits.size(), 2U);
  EXPECT_EQ(found.semaphore.permits[0].slot, 1);
  EXPECT_EQ(found.semaphore.permits[0].token, first);
  EXPECT_EQ(found.semaphore.permits[1].token, "");
  EXPECT_EQ(found.semaphore.permits[0].expires_in, 900ms);
  EXPECT_EQ(found.semaphore.permits[1].slot, 3);
  EXPECT_EQ(found.semaphore.permits[1].expires_in, std::nullopt);
  ASSERT_EQ(found.semaphore.waiters.size(), 1U);
  EXPECT_EQ(found.semaphore.waiters[0].process, "0123456789abcdef");
  EXPECT_EQ(found.semaphore.waiters[0].waiting_for, 1s);
  EXPECT_EQ(found.semaphore.waiters[0].expires_in, 2s);
  EXPECT_FALSE(holding(answer("none", "", "-2", {}, {})).semaphore.known());
}

TEST(Look, TheLineIsThatOfAQuorum) {
  // Of three nodes, one has an older ticket of the second waiter, one has no entry of the first
  // yet, and one alone has a third waiter.
  const auto entry = [](const char* name, std::uint64_t ticket, std::chrono::milliseconds age,
                        std::chrono::milliseconds life) {
    return LineEntry{name, "p", LockMode::exclusive, ticket, age, life};
  };
  Inspection all;
  all.quorum = 2;
  all.nodes.resize(3);
  all.nodes[0].token = OwnerToken("a");
  all.nodes[1].token = OwnerToken("b");
  all.nodes[2].token = OwnerToken("b");
  all.nodes[0].waiters = {entry("w2", 4, 9ms, 10ms), entry("w1", 5, 8ms, 10ms)};
  all.nodes[1].waiters = {entry("w1", 5, 7ms, 30ms), entry("w2", 6, 2ms, 20ms)};
  all.nodes[2].waiters = {entry("w3", 1, 1ms, 30ms), entry("w2", 6, 1ms, 30ms)};
  conclude(all);
  EXPECT_EQ(all.holder, "b");
  EXPECT_EQ(all.mode(), LockMode::exclusive);
  ASSERT_EQ(all.waiters.size(), 2U);
  EXPECT_EQ(all.waiters[0].name, "w1");
  EXPECT_EQ(all.waiters[0].waiting_for, 8ms);
  EXPECT_EQ(all.waiters[0].expires_in, 10ms);
  EXPECT_EQ(all.waiters[1].ticket, 6U);
  EXPECT_EQ(all.waiters[1].waiting_for, 9ms);
  EXPECT_EQ(all.waiters[1].expires_in, 20ms);
}

TEST(Look, ThePermitsAreThoseOfAQuorum) {
  // Of three nodes, one has another capacity on record. The first permit has the same owner on all
  // nodes; the second has different owners; the third is on two nodes, on one of them without an
  // expiry. The waiter is in line on two nodes.
  Inspection all;
  all.quorum = 2;
  all.nodes.resize(3);
  all.nodes[0].semaphore = {
      3,
      {{1, OwnerToken("a"), 10ms}, {2, OwnerToken("b"), 10ms}, {3, OwnerToken("c"), std::nullopt}},
      {}};
  all.nodes[1].semaphore = {
      3, {{1, OwnerToken("a"), 30ms}, {2, OwnerToken("x"), 10ms}, {3, OwnerToken("c"), 5ms}}, {}};
  all.nodes[2].semaphore = {4, {{1, OwnerToken("a"), 20ms}, {2, OwnerToken("y"), 10ms}}, {}};
  const LineEntry entry{"w1", "p", LockMode::exclusive, 5, 7ms, 30ms};
  all.nodes[1].semaphore.waiters = all.nodes[2].semaphore.waiters = {entry};
  all.nodes[0].semaphore.waiters = {{"w0", "p", LockMode::exclusive, 4, 7ms, 30ms}};
  conclude(all);
  EXPECT_EQ(all.semaphore.capacity, 3);
  ASSERT_EQ(all.semaphore.permits.size(), 2U);
  EXPECT_EQ(all.semaphore.permits[0].slot, 1);
  EXPECT_EQ(all.semaphore.permits[0].token, "a");
  EXPECT_EQ(all.semaphore.permits[0].expires_in, 20ms);
  EXPECT_EQ(all.semaphore.permits[1].slot, 3);
  EXPECT_EQ(all.semaphore.permits[1].token, "c");
  EXPECT_EQ(all.semaphore.permits[1].expires_in, 5ms);
  ASSERT_EQ(all.semaphore.waiters.size(), 1U);
  EXPECT_EQ(all.semaphore.waiters[0].name, "w1");
  EXPECT_THAT(all.waiters, IsEmpty());
  EXPECT_FALSE(all.mode().has_value());

  all.nodes[0].semaphore.permits.clear();
  all.nodes[1].semaphore.permits[2].expires_in = std::nullopt;
  all.nodes[2].semaphore.permits.push_back({3, OwnerToken("c"), std::nullopt});
  conclude(all);
  EXPECT_EQ(all.semaphore.permits.back().expires_in, std::nullopt);
}

TEST(Look, TheReadersAreThoseOfAQuorum) {
  // One reader has its token on two of three nodes, the other on one.
  Inspection all;
  all.quorum = 2;
  all.nodes.resize(3);
  all.nodes[0].readers = {{OwnerToken("one"), 1ms}, {OwnerToken("two"), 1ms}};
  all.nodes[2].readers = {{OwnerToken("two"), 1ms}};
  conclude(all);
  EXPECT_EQ(all.readers, std::vector{OwnerToken("two")});
  EXPECT_EQ(all.mode(), LockMode::shared);
  EXPECT_EQ(all.holder, "");
}

}  // namespace
}  // namespace quorumlock::detail
