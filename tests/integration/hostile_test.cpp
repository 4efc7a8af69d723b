#include <algorithm>
#include <mutex>

#include "integration/fixture.hpp"
#include "support/allocated.hpp"
#include "support/hostile_server.hpp"

namespace quorumlock::test {
namespace {

/// A hostile server, and the expected end of the connection to it.
struct Case {
  Hostility server;
  /// The log's words about the connection; empty if the connection may stay.
  std::string trouble;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.server.name;
}

const std::string not_a_reply = "sent what is not a reply: ";
const std::string beyond = not_a_reply + "a reply beyond the limits";
const std::string silent = "no answer within connect_timeout";

std::vector<Case> cases() {
  const std::string long_error = "-ERR \x1b[31m" + std::string(10'000, 'e') + "\r\n";
  const std::string huge_error = "-ERR " + std::string(100'000, 'e') + "\r\n";
  return {
      {{.name = "Http", .at_once = "HTTP/1.1 400 Bad Request\r\n\r\n"},
       not_a_reply + "Protocol error, got \"H\" as reply type byte: \"HTTP/1.1 400 Bad Request\""},
      {{.name = "EndlessGarbage", .endless = std::string("\x16\x03\x01\x00\xff\r\n", 7)},
       not_a_reply + "Protocol"},
      {{.name = "HugeBulk", .to_each = "$4611686018427387904\r\n", .endless = "x"}, beyond},
      {{.name = "HugeArray", .to_each = "*2147483647\r\n", .endless = ":1\r\n"}, beyond},
      {{.name = "NegativeBulk", .to_each = "$-2\r\n"}, not_a_reply},
      {{.name = "NegativeArray", .to_each = "*-2\r\n"}, not_a_reply},
      {{.name = "EndlessNesting", .endless = "*1\r\n"}, not_a_reply + "No support for nested"},
      {{.name = "TrickledBulk", .to_each = "$1000000000\r\n", .endless = "x", .piece = 1}, silent},
      {{.name = "EndlessLine", .at_once = "+", .endless = "x"}, beyond},
      {{.name = "NobodyAsked", .endless = ":1\r\n"}, "sent a reply that nobody asked for"},
      {{.name = "HugeError", .to_each = huge_error}, beyond},
      {{.name = "Silence"}, silent},
      {{.name = "Closes", .to_each = "$100000\r\nhalf", .closes = true},
       "the node closed the connection"},
      {{.name = "LongErrors", .to_each = long_error}, ""},
      {{.name = "OnlyIntegers", .to_each = ":1\r\n"}, ""},
      {{.name = "OnlyIntegersTrickled", .to_each = ":1\r\n", .piece = 1}, ""},
      {{.name = "OnlyStrings", .to_each = "$2\r\nhi\r\n"}, ""},
      {{.name = "OnlyStatuses", .to_each = "+PONG\r\n"}, ""},
      {{.name = "OnlyArrays", .to_each = "*2\r\n:1\r\n$-1\r\n"}, ""},
  };
}

void expect_sentence(const std::string& text, std::size_t longest) {
  EXPECT_LT(text.size(), longest) << text;
  EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c >= 0 && c < 0x20; })) << text;
}

class Hostile : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr std::size_t most_memory = std::size_t{64} << 20;
  /// Twice a reply's limit, at which the reader gives up at the latest, including the data on its
  /// way.
  static constexpr std::size_t most_read = std::size_t{3} << 20;

  static void SetUpTestSuite() { good_ = std::make_unique<Cluster>(ClusterSettings{.size = 4}); }
  static void TearDownTestSuite() { good_.reset(); }
  void SetUp() override { good_->heal(); }

  /// Returns whether the log has a sentence with these words.
  bool was_said(const std::string& words) {
    const std::lock_guard<std::mutex> lock(guard_);
    return std::ranges::any_of(
        said_, [&](const std::string& sentence) { return sentence.find(words) != words.npos; });
  }
  void note(std::string_view sentence) {
    const std::lock_guard<std::mutex> lock(guard_);
    expect_sentence(said_.emplace_back(sentence), 500);
  }

  inline static std::unique_ptr<Cluster> good_;
  const std::string key_ = "resource";
  const std::size_t allocated_ = allocated();

 private:
  std::mutex guard_;
  std::vector<std::string> said_;
};

TEST_P(Hostile, OneNodeOfFiveDoesNoHarm) {
  // Whatever one node does, the others are enough, nothing hangs, its connection is dropped once no
  // sensible reply can follow, and it cannot make us keep what it sends.
  HostileServer bad(GetParam().server);
  Options options = good_->options();
  options.nodes.push_back(bad.url());
  good_->enrol_for(options.nodes);
  options.connect_timeout = 2s;
  options.log = [this](std::string_view sentence) { note(sentence); };
  Coordinator coordinator = connect(options);
  Result<Lease> lease = coordinator.acquire(key_, {.wait = 20s});
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(eventually([&] { return good_->holders(key_, lease->owner_token()) == 4; }));
  if (!GetParam().trouble.empty()) {
    EXPECT_TRUE(eventually([&] {
      return was_said(bad.url() + " is down: ") || was_said(bad.url() + " cannot vote: ");
    }));
    EXPECT_TRUE(eventually([&] { return was_said(GetParam().trouble); }));
    if (!GetParam().server.closes) {
      EXPECT_TRUE(eventually([&] { return bad.dropped() > 0; }));
    }
  }
  EXPECT_TRUE(ok(lease->extend(20s)));
  EXPECT_TRUE(ok(lease->release()));
  EXPECT_TRUE(eventually([&] { return good_->keys().empty(); }));
  EXPECT_LT(bad.most_sent(), most_read);
  EXPECT_LT(allocated(), allocated_ + most_memory);
}

TEST_P(Hostile, AllNodesTogetherGiveNoQuorum) {
  // There is soon known to be no quorum, and a sentence of moderate length describes each node's
  // fault.
  std::vector<std::unique_ptr<HostileServer>> bad;
  Options options;
  for (int node = 0; node < 5; ++node) {
    bad.push_back(std::make_unique<HostileServer>(GetParam().server));
    options.nodes.push_back(bad.back()->url());
  }
  options.connect_timeout = options.node_timeout = 1s;
  Coordinator coordinator = connect(options);
  const auto begin = Clock::now();
  const Result<Lease> refused = coordinator.acquire(key_);
  EXPECT_LT(Clock::now() - begin, 10s);
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  expect_sentence(refused.error().what(), 3000);
  for (const NodeVote& vote : refused.error().outcome().votes) {
    if (vote.vote == Vote::pending) continue;  // the outcome did not depend on this node
    EXPECT_NE(vote.vote, Vote::granted);
    EXPECT_FALSE(vote.detail.empty()) << vote.node;
    expect_sentence(vote.detail, 500);
  }
  for (const auto& one : bad) EXPECT_LT(one->most_sent(), most_read);
  EXPECT_LT(allocated(), allocated_ + most_memory);
}

INSTANTIATE_TEST_SUITE_P(Servers, Hostile, ::testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.server.name; });

}  // namespace
}  // namespace quorumlock::test
