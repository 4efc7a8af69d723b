#include <deque>
#include <set>

#include "integration/fixture.hpp"

// The holders and the waiters of a semaphore, as other clients see them.
namespace quorumlock::test {
namespace {

class InspectSemaphore : public FiveNodes {
 protected:
  Coordinator coordinator = connect();

  static Result<Lease> ask(Semaphore& semaphore) {
    Answer<Result<Lease>> answer;
    semaphore.async_acquire({}, answer.handler());
    return answer.get();
  }
  static std::set<std::string> tokens_in(const SemaphoreHolding& semaphore) {
    std::set<std::string> tokens;
    for (const PermitHolding& permit : semaphore.permits) tokens.insert(permit.token);
    return tokens;
  }
  /// Returns the inspection once `count` waiters are on every node.
  Inspection with_waiters(std::size_t count) {
    Inspection seen;
    EXPECT_TRUE(eventually([&] {
      seen = coordinator.inspect(key).value();
      return std::ranges::all_of(seen.nodes, [count](const NodeHolding& node) {
        return node.semaphore.waiters.size() == count;
      });
    })) << count;
    return seen;
  }
};

TEST_F(InspectSemaphore, ReportsHoldersAndWaiters) {
  // At first no permit was ever held; then two of three are; then all three, with one waiter of
  // this process and one of another.
  warm(coordinator);
  EXPECT_FALSE(coordinator.inspect(key).value().semaphore.known());
  Semaphore semaphore(coordinator, key, 3, {.ttl = 20s});
  std::deque<Lease> permits;
  for (int i = 0; i < 2; ++i) permits.push_back(ask(semaphore).value());
  Inspection seen = coordinator.inspect(key).value();
  EXPECT_EQ(seen.semaphore.capacity, 3);
  EXPECT_EQ(tokens_in(seen.semaphore),
            (std::set<std::string>{permits[0].owner_token(), permits[1].owner_token()}));
  EXPECT_EQ(seen.count(Vote::absent), 5);  // the lock of the same name
  EXPECT_FALSE(seen.mode().has_value());

  permits.push_back(ask(semaphore).value());
  Coordinator other = connect();
  Semaphore there(other, key, 3);
  Answer<Result<Lease>> first;
  Answer<Result<Lease>> second;
  semaphore.async_acquire({}, first.handler());
  with_waiters(1);
  there.async_acquire({}, second.handler());
  seen = with_waiters(2);
  ASSERT_EQ(seen.semaphore.permits.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    const PermitHolding& permit = seen.semaphore.permits[static_cast<std::size_t>(i)];
    EXPECT_EQ(permit.slot, i + 1);
    EXPECT_GT(permit.expires_in, 10s);
    EXPECT_LE(permit.expires_in, 20s);
  }
  for (const NodeHolding& node : seen.nodes) {
    EXPECT_EQ(node.semaphore.capacity, 3);
    EXPECT_EQ(tokens_in(node.semaphore), tokens_in(seen.semaphore)) << node.node;
  }
  ASSERT_EQ(seen.semaphore.waiters.size(), 2U);
  EXPECT_LT(seen.semaphore.waiters[0].ticket, seen.semaphore.waiters[1].ticket);
  EXPECT_NE(seen.semaphore.waiters[0].process, seen.semaphore.waiters[1].process);
  EXPECT_LE(seen.semaphore.waiters[0].expires_in, 3s);
  EXPECT_TRUE(seen.waiters.empty());
  permits.clear();
  EXPECT_TRUE(ok(first.get()));
  EXPECT_TRUE(ok(second.get()));
}

TEST_F(InspectSemaphore, ReportsAllPermitsOfTheGreatestSemaphore) {
  // All permits are reported, as held on every node.
  const auto slot = [this](long number) {
    return "quorumlock:permit:" + key + ":" + std::to_string(number);
  };
  const std::string digits(34, 'a');  // a token has 40 hexadecimal digits
  const auto token_of = [digits](long number) { return std::to_string(number + 100'000) + digits; };
  std::vector<std::string> all = {"MSET", "quorumlock:semaphore:" + key,
                                  std::to_string(Semaphore::max())};
  for (long number = 1; number <= Semaphore::max(); ++number) {
    all.insert(all.end(), {slot(number), token_of(number)});
  }
  cluster().raw_everywhere(all);
  const Inspection seen = coordinator.inspect(key).value();
  EXPECT_EQ(seen.semaphore.capacity, Semaphore::max());
  ASSERT_EQ(seen.semaphore.permits.size(), static_cast<std::size_t>(Semaphore::max()));
  EXPECT_EQ(seen.semaphore.permits.back().token, token_of(1024));
  EXPECT_FALSE(seen.semaphore.permits.back().expires_in.has_value());
}

}  // namespace
}  // namespace quorumlock::test
