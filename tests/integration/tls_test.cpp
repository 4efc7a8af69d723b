#include <quorumlock/admin.hpp>
#include <quorumlock/quorumlock.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "local/certificates.hpp"
#include "support/hostile_server.hpp"
#include "support/proxy.hpp"

// The library over TLS, against the TLS ports of real servers. What a certificate may be is tested
// in tests/unit/tls; here each fault of one node costs its vote and nothing else.
namespace quorumlock::test {
namespace {

/// Returns the same address for TLS.
std::string secured(const std::string& url) {
  return "rediss" + url.substr(url.find("://"));
}

/// Three nodes with TLS ports, whose certificates a test may change.
class Tls : public ::testing::Test {
 protected:
  Tls() {
    issue("server", authority_);
    authority_.write(ca_);
    for (int node = 0; node < 3; ++node) {  // all at once: the files of the last test are gone
      set(node, {"tls-cert-file", path("server.pem"), "tls-key-file", path("server.key"),
                 "tls-ca-cert-file", ca_, "tls-auth-clients", "no"});
    }
    nodes().heal();
  }
  static void SetUpTestSuite() {
    nodes_ = std::make_unique<Cluster>(ClusterSettings{.size = 3, .tls = true, .user = ""});
  }
  static void TearDownTestSuite() { nodes_.reset(); }
  static Cluster& nodes() { return *nodes_; }

  [[nodiscard]] std::string path(const std::string& file) const {
    return (directory_.path() / file).string();
  }
  static void set(int node, std::vector<std::string> words) {
    words.insert(words.begin(), {"CONFIG", "SET"});
    const Reply reply = nodes().raw(node, words);
    EXPECT_FALSE(reply.is_error()) << reply.text;
  }
  void issue(const std::string& name, const local::Authority& authority,
             const local::CertificateSettings& settings = {}) const {
    authority.issue(settings, path(name + ".pem"), path(name + ".key"));
  }
  /// Makes the node present this certificate from now on.
  void present_at(int node, const std::string& name) const {
    set(node, {"tls-cert-file", path(name + ".pem"), "tls-key-file", path(name + ".key")});
  }
  Options options() {
    Options options = nodes().options();
    options.tls.ca_file = ca_;
    options.log = [this](std::string_view sentence) {
      const std::lock_guard<std::mutex> lock(guard_);
      said_.emplace_back(sentence);
    };
    return options;
  }
  bool was_said(const std::string& words) {
    const std::lock_guard<std::mutex> lock(guard_);
    return std::ranges::any_of(
        said_, [&](const std::string& sentence) { return sentence.find(words) != words.npos; });
  }
  /// Checks that the last node costs its own vote only, and that its fault is named.
  void expect_one_lost_vote(const Options& options, const std::string& words) {
    nodes().enrol_for(options.nodes);
    Coordinator coordinator = connect(options);
    const Result<Lease> lease = coordinator.acquire(key);
    ASSERT_TRUE(ok(lease));
    EXPECT_TRUE(eventually([&] {
      return was_said(options.nodes[2].url + " cannot vote: ") && was_said(words);
    })) << words;
    const Result<ClusterStatus> status = coordinator.status();
    ASSERT_TRUE(ok(status));
    EXPECT_EQ(status->nodes[2].reason, Vote::tls_failed) << to_string(status->nodes[2].reason);
    EXPECT_NE(status->nodes[2].trouble.find(words), std::string::npos) << status->nodes[2].trouble;
    EXPECT_TRUE(status->nodes[0].votes);
    EXPECT_TRUE(status->nodes[1].votes);
  }

  const std::string key = resource_of_this_test();
  local::TemporaryDirectory directory_;
  const std::string ca_ = path("ca.pem");
  local::Authority authority_;

 private:
  inline static std::unique_ptr<Cluster> nodes_;
  std::mutex guard_;
  std::vector<std::string> said_;
};

TEST_F(Tls, LocksAndWaitsAndWakes) {
  // Both connections to each node use TLS: the one for commands, and the one for messages.
  Coordinator first = connect(options());
  Coordinator second = connect(options());
  Result<Lease> lease = first.acquire(key);
  ASSERT_TRUE(ok(lease));
  EXPECT_TRUE(eventually([&] { return nodes().holders(key, lease->owner_token()) == 3; }));
  Answer<Result<Lease>> waiter;
  second.async_acquire(key, {.wait = 20s}, {}, waiter.handler());
  EXPECT_TRUE(eventually([&] {
    return nodes().raw(0, {"PUBSUB", "CHANNELS"}).elements.size() == 1;
  }));
  EXPECT_TRUE(ok(lease->release()));
  const Result<Lease> next = waiter.get();
  ASSERT_TRUE(ok(next));
  EXPECT_GT(next->fencing_token(), lease->fencing_token());
}

TEST_F(Tls, ACertificateForAnotherHostCostsOneVote) {
  Options options = this->options();
  options.nodes[2].tls.server_name = "lock3.example";
  expect_one_lost_vote(options,
                       "presented a certificate for localhost, 127.0.0.1, and not for "
                       "lock3.example");
}

TEST_F(Tls, AnUnknownAuthorityCostsOneVote) {
  local::Authority("another authority").write(path("other.pem"));
  Options options = this->options();
  options.nodes[2].tls.ca_file = path("other.pem");
  expect_one_lost_vote(options, "presented a certificate issued by an unknown authority");
}

TEST_F(Tls, AnExpiredCertificateCostsOneVote) {
  issue("old", authority_, {.begins = -48h, .ends = -24h});
  present_at(2, "old");
  expect_one_lost_vote(options(), "presented a certificate that expired on ");
}

TEST_F(Tls, AMissingClientCertificateCostsOneVote) {
  set(2, {"tls-auth-clients", "yes"});
  expect_one_lost_vote(options(), "client certificate");
}

TEST_F(Tls, AClientCertificateIsPresented) {
  issue("client", authority_);
  for (int node = 0; node < 3; ++node) set(node, {"tls-auth-clients", "yes"});
  Options options = this->options();
  options.tls.cert_file = path("client.pem");
  options.tls.key_file = path("client.key");
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(ok(coordinator.acquire(key)));
}

TEST_F(Tls, ANodeThatSpeaksPlainTextCostsOneVote) {
  Cluster plain({.size = 1, .tcp = true});
  Options options = this->options();
  options.nodes[2].url = secured(plain.server(0).plain_url());
  options.connect_timeout = 2s;  // a server may wait for the end of the first line
  expect_one_lost_vote(options, "speak TLS");
}

TEST_F(Tls, AStalledHandshakeCostsOneVote) {
  // One server accepts and is silent, one stops in the middle of a record.
  for (const char* said : {"", "\x16\x03\x03\x20\x20half"}) {
    HostileServer silent({.name = "Silent", .at_once = said});
    const std::string url = silent.url();
    Proxy port({url.substr(url.find("://") + 3)});
    Options options = this->options();
    options.nodes[2].url = secured(port.url(0));
    options.connect_timeout = 2s;
    expect_one_lost_vote(options, "no answer within connect_timeout in the TLS handshake");
  }
}

TEST_F(Tls, APlainClientOnATlsPortLearnsTheOtherScheme) {
  Options options = this->options();
  options.tls = {};
  for (NodeOptions& node : options.nodes) node.url = "redis" + node.url.substr(6);
  nodes().enrol_for(options.nodes);
  Coordinator coordinator = connect(options);
  const Result<Lease> lease = coordinator.acquire(key);
  ASSERT_TRUE(fails_with(lease, Errc::no_quorum));
  EXPECT_NE(std::string(lease.error().what()).find("write rediss://"), std::string::npos)
      << lease.error().what();
}

TEST_F(Tls, ANodeThatLeavesIsAskedByTls) {
  // The new list lacks one node, of which only the name is known: it has no port for plain text.
  nodes().enrol_for(options().nodes);
  Options fewer = options();
  fewer.nodes.pop_back();
  Result<MembersChange> change = MembersChange::open(fewer);
  ASSERT_TRUE(ok(change));
  const Result<std::vector<MembersReport>> reports = change->look();
  ASSERT_TRUE(ok(reports));
  ASSERT_EQ(reports->front().members.size(), 3U);
  for (const Member& member : reports->front().members)
    EXPECT_EQ(member.state, MemberState::settled);
}

TEST_F(Tls, FilesThatCannotBeUsedAreRefusedAtOnce) {
  Options options = this->options();
  options.tls.ca_file = path("none.pem");
  const Result<Coordinator> coordinator = Coordinator::create(options);
  ASSERT_TRUE(fails_with(coordinator, Errc::invalid_argument));
  EXPECT_NE(std::string(coordinator.error().what()).find("tls.ca_file is "), std::string::npos);
}

TEST_F(Tls, AFileThatIsNeverReadDelaysNoEnd) {
  // The file becomes one that blocks its reader, as on a file system that does not answer: first
  // beside connections that stand, and then before there are any.
  Options options = this->options();
  options.connect_timeout = 200ms;
  Coordinator coordinator = connect(options);
  ASSERT_TRUE(ok(coordinator.acquire(key)));
  const std::string pipe = path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const local::Descriptor writes_nothing(::open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  std::filesystem::rename(pipe, ca_);
  const Result<Lease> other = coordinator.acquire(key + "/other");
  EXPECT_TRUE(ok(other));
  for (int node = 0; node < 3; ++node) nodes().drop_clients(node);
  EXPECT_TRUE(eventually(
      [&] { return was_said("no answer within connect_timeout from the files of its TLS"); }));
  coordinator.close();

  Coordinator next = connect(options);
  EXPECT_TRUE(fails_with(next.acquire(key), Errc::no_quorum));
  next.close();
}

TEST_F(Tls, AnAuthorityAndItsCertificatesAreReplacedUnderLoadWithoutALostLease) {
  Options options = this->options();
  options.ttl = 5s;
  Coordinator coordinator = connect(options);
  const Result<Lease> held = coordinator.acquire(key);
  ASSERT_TRUE(ok(held));
  std::atomic<bool> over = false;
  std::atomic<int> cycles = 0;
  std::string trouble;
  std::thread load([&] {
    while (!over && trouble.empty()) {
      Result<Lease> lease = coordinator.acquire(key + "/load", {.wait = 20s});
      if (!lease) {
        trouble = lease.error().what();
      } else {
        ++cycles;
      }
    }
  });
  const local::Authority next("the next authority");
  next.write(ca_);  // the connections that are there go on
  issue("next", next);
  for (int node = 0; node < 3; ++node) {
    present_at(node, "next");
    const int before = cycles;
    nodes().drop_clients(node);
    // This node's own reply is needed for the lease to be on all three again.
    EXPECT_TRUE(eventually([&] {
      const Result<ClusterStatus> status = coordinator.status();
      return status && status->voters() == 3 && cycles > before + 10;
    }));
  }
  over = true;
  load.join();
  EXPECT_EQ(trouble, "");
  EXPECT_TRUE(held->is_valid());
  EXPECT_FALSE(held->stop_token().stop_requested());
  EXPECT_FALSE(was_said("presented a certificate"));
}

}  // namespace
}  // namespace quorumlock::test
