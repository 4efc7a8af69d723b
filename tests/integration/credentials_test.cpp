#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <semaphore>
#include <stop_token>

#include "integration/fixture.hpp"

// Passwords that change while locks are held.
namespace quorumlock::test {
namespace {

/// Three nodes with a user "locker", the only one who may log in; the test keeps all messages.
class CredentialsOfNodes : public ::testing::Test {
 protected:
  CredentialsOfNodes() : cluster({.size = 3, .user = ""}) {
    cluster.raw_everywhere({"ACL", "SETUSER", "locker", "on", ">s3cret-1", "~*", "&*", "+@all"});
    write("s3cret-1\n");
  }
  void TearDown() override {
    const std::lock_guard<std::mutex> lock(guard_);
    EXPECT_EQ(said_.find("s3cret"), said_.npos) << said_;
  }

  void write(const std::string& password) {
    const std::string next = directory.path() / "next";
    std::ofstream(next) << password;
    std::filesystem::rename(next, file);
  }
  [[nodiscard]] Options options() {
    Options options = cluster.options();
    options.log = [this](std::string_view sentence) {
      const std::lock_guard<std::mutex> lock(guard_);
      said_ += std::string(sentence) + "\n";
    };
    return options;
  }
  [[nodiscard]] Options from_file() {
    Options options = this->options();
    for (NodeOptions& node : options.nodes) {
      node.user = "locker";
      node.password_file = file;
    }
    return options;
  }
  bool said(std::string_view what) {
    const std::lock_guard<std::mutex> lock(guard_);
    return said_.find(what) != said_.npos;
  }
  int times_said(std::string_view what) {
    const std::lock_guard<std::mutex> lock(guard_);
    int times = 0;
    for (std::size_t at = 0; (at = said_.find(what, at)) != said_.npos; ++at) ++times;
    return times;
  }
  /// Returns once each node has been asked to log somebody in this many times.
  bool logged_in(int times) {
    return eventually([&] {
      for (int node = 0; node < 3; ++node) {
        if (cluster.calls(node, "auth") < times) return false;
      }
      return true;
    });
  }
  /// Expects every node to refuse us in a sentence with this in it.
  void expect_unauthorized(const Options& options, std::string_view why) {
    Coordinator coordinator = connect(options);
    const Result<Lease> refused = coordinator.acquire("thing");
    ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
    const std::string sentence = refused.error().what();
    EXPECT_GE(refused.error().outcome().count(Vote::unauthorized), 2) << sentence;
    EXPECT_NE(sentence.find(why), sentence.npos) << sentence;
    EXPECT_EQ(sentence.find("s3cret"), sentence.npos) << sentence;
  }

  TemporaryDirectory directory;
  const std::string file = directory.path() / "password";
  Cluster cluster;

 private:
  std::mutex guard_;
  std::string said_;
};

TEST_F(CredentialsOfNodes, AreRotatedUnderLoadWithoutALostLease) {
  // A password is added, the file changed, the old password taken away, and every connection cut;
  // twice. A lease that is renewed all the while lasts, and locks are taken meanwhile.
  Coordinator coordinator = connect(from_file());
  Result<Lease> held = coordinator.acquire("held", {.ttl = 2s, .wait = 20s});
  ASSERT_TRUE(ok(held));
  std::atomic<bool> enough{false};
  std::atomic<int> taken{0};
  std::thread load([&] {
    while (!enough) {
      if (coordinator.acquire("other", {.wait = 20s})) ++taken;
    }
  });
  for (int turn = 2; turn < 4; ++turn) {
    const std::string before = "<s3cret-" + std::to_string(turn - 1);
    const std::string next = "s3cret-" + std::to_string(turn);
    cluster.raw_everywhere({"ACL", "SETUSER", "locker", ">" + next});
    cluster.raw_everywhere({"CONFIG", "RESETSTAT"});
    write(next);
    EXPECT_TRUE(logged_in(1));
    cluster.raw_everywhere({"ACL", "SETUSER", "locker", before});
    for (int node = 0; node < 3; ++node) cluster.drop_clients(node);
    EXPECT_TRUE(logged_in(2));
    const int so_far = taken;
    EXPECT_TRUE(eventually([&] { return taken > so_far + 5; }));
  }
  enough = true;
  load.join();
  EXPECT_TRUE(held->is_valid());
  EXPECT_TRUE(ok(held->release()));
  EXPECT_FALSE(said("refused to log us in"));
}

TEST_F(CredentialsOfNodes, AWrongNewPasswordIsRefusedOnceAndLosesNothing) {
  // The file gets a password that no node accepts: one sentence for each node, and the connections
  // go on. Only a new connection is refused.
  Coordinator coordinator = connect(from_file());
  Result<Lease> held = coordinator.acquire("held", {.wait = 20s});
  ASSERT_TRUE(ok(held));
  ASSERT_TRUE(logged_in(1)) << "a connection that is not there yet is refused in other words";
  write("s3cret-wrong");
  // Meanwhile there is always a command around the login, and each lock has its own answers. (Redis
  // 8 drops the refusal of a login that it reads together with another command.)
  EXPECT_TRUE(eventually([&] {
    std::vector<Answer<Result<Lease>>> answers(50);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      coordinator.async_acquire(std::to_string(i), {.wait = 20s}, {}, answers[i].handler());
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const Result<Lease> lease = answers[i].get();
      EXPECT_TRUE(ok(lease));
      if (!lease) continue;
      EXPECT_GE(cluster.holders(std::to_string(i), lease->owner_token()), 2);
    }
    return times_said("refused to log us in again") == 3;
  }));
  EXPECT_TRUE(ok(held->extend(20s)));
  EXPECT_TRUE(ok(coordinator.acquire("other", {.wait = 20s})));
  expect_unauthorized(from_file(), "refused to log us in: WRONGPASS");
  EXPECT_EQ(times_said("refused to log us in again"), 3);
}

TEST_F(CredentialsOfNodes, AFileThatCannotBeReadCostsTheVoteUntilItCan) {
  // The error names the file and the reason; nothing but the file has to come back.
  std::filesystem::remove(file);
  expect_unauthorized(from_file(), "password\" cannot be read: No such file or directory");
  Coordinator coordinator = connect(from_file());
  EXPECT_FALSE(coordinator.acquire("thing"));
  write("s3cret-1");
  EXPECT_TRUE(ok(coordinator.acquire("thing", {.wait = 20s})));
}

TEST_F(CredentialsOfNodes, ATokenIsRenewedBeforeItEnds) {
  // The callback gives tokens that last 200 ms. Each connection logs in again and again while one
  // lease lasts and is prolonged.
  std::atomic<int> asked{0};
  const std::vector<std::string> nodes = cluster.urls();
  Options with_tokens = options();
  with_tokens.credentials = [&](std::string_view node) -> Result<Credentials> {
    EXPECT_TRUE(std::ranges::count(nodes, node) == 1) << node;
    ++asked;
    return Credentials{"locker", "s3cret-1", 200ms};
  };
  Coordinator coordinator = connect(with_tokens);
  Result<Lease> held = coordinator.acquire("held", {.wait = 20s});
  ASSERT_TRUE(ok(held));
  EXPECT_TRUE(logged_in(5));
  EXPECT_GE(asked, 15);
  EXPECT_TRUE(ok(held->extend(20s)));
  EXPECT_TRUE(ok(held->release()));
  EXPECT_FALSE(said("is down"));
}

TEST_F(CredentialsOfNodes, ACallbackThatFailsIsAskedAgainAndSpoilsNothing) {
  // The callback fails after the first token of each node, in both ways: the connections go on, the
  // log has a sentence for each node, and the callback is asked again after a pause.
  std::atomic<int> asked{0};
  Options with_tokens = options();
  with_tokens.credentials = [&](std::string_view) -> Result<Credentials> {
    const int times = ++asked;
    if (times <= 3) return Credentials{"locker", "s3cret-1", 400ms};
    if (times % 2 == 0) return Error(Errc::invalid_argument, "the vault is sealed");
    throw std::runtime_error("the vault is sealed");
  };
  Coordinator coordinator = connect(with_tokens);
  Result<Lease> held = coordinator.acquire("held", {.wait = 20s});
  ASSERT_TRUE(ok(held));
  EXPECT_TRUE(eventually([&] { return asked >= 9; }));
  EXPECT_EQ(times_said("has no credentials: the vault is sealed"), 3);
  EXPECT_TRUE(ok(held->extend(20s)));
}

TEST_F(CredentialsOfNodes, WithoutATokenTheVoteIsUnauthorized) {
  // One callback fails from the start, and one has a token that has ended already.
  cluster.raw_everywhere({"ACL", "SETUSER", "default", "+@all"});
  Options without = options();
  without.credentials = [](std::string_view) -> Result<Credentials> {
    throw std::runtime_error("the vault is sealed");
  };
  expect_unauthorized(without, "has no credentials: the vault is sealed");
  without.credentials = [](std::string_view) -> Result<Credentials> {
    return Credentials{"locker", "s3cret-1", 0s};
  };
  expect_unauthorized(without, "has credentials that have ended already");
}

TEST_F(CredentialsOfNodes, ACallbackThatNeverReturnsDelaysNoEnd) {
  // The error says what was waited for. The end asks the callbacks to stop, and leaves them alone.
  const auto asked_to_stop = std::make_shared<std::atomic<int>>(0);
  Options hanging = options();
  hanging.connect_timeout = 200ms;
  hanging.credentials = [asked_to_stop](std::string_view,
                                        std::stop_token stop) -> Result<Credentials> {
    std::binary_semaphore never(0);
    const std::stop_callback count(std::move(stop), [&] { ++*asked_to_stop; });
    never.acquire();
    return Credentials{};
  };
  Coordinator coordinator = connect(hanging);
  const Result<Lease> refused = coordinator.acquire("thing");
  ASSERT_TRUE(fails_with(refused, Errc::no_quorum));
  EXPECT_NE(std::string(refused.error().what()).find("from the callback for credentials"),
            std::string::npos)
      << refused.error().what();
  coordinator.close();
  EXPECT_EQ(*asked_to_stop, 3);
}

TEST_F(CredentialsOfNodes, AreNotAskedForIfTheNodeHasSomeOfItsOwn) {
  // A file or a user in the node's object wins over the callback.
  Options both = from_file();
  std::atomic<int> asked{0};
  both.credentials = [&](std::string_view) -> Result<Credentials> {
    ++asked;
    return Credentials{};
  };
  Coordinator coordinator = connect(both);
  EXPECT_TRUE(ok(coordinator.acquire("thing", {.wait = 20s})));
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace quorumlock::test
