#include <string>

#include "integration/failed_over.hpp"
#include "local/certificates.hpp"

// A node that Sentinels report, if all connections to Sentinels and servers use TLS.
namespace quorumlock::test {
namespace {

class TlsSentinels : public FailedOver {
 protected:
  TlsSentinels() : FailedOver(1, true) { start_three_sentinels(); }

  /// Lets the primary present a certificate for these hosts.
  void present(const std::string& hosts) {
    const std::string cert = directory.path() / "special.pem";
    const std::string key = directory.path() / "special.key";
    authority.write(ca);
    authority.issue({.hosts = hosts}, cert, key);
    const Reply reply = nodes.raw(2, {"CONFIG", "SET", "tls-cert-file", cert, "tls-key-file", key});
    EXPECT_FALSE(reply.is_error()) << reply.text;
  }
  [[nodiscard]] Options options() const { return FailedOver::options(url()); }

  local::Authority authority{"another authority"};
  const std::string ca = directory.path() / "ca.pem";
};

TEST_F(TlsSentinels, APromotionIsFollowed) {
  enrol();
  Coordinator coordinator = connect(options());
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; })) << third(coordinator).trouble;
  const std::string run = third(coordinator).run_id;
  EXPECT_FALSE(third(coordinator).access.plain_text);
  fail_over();
  nodes.restart(2);  // the Sentinels make a replica of it
  EXPECT_TRUE(eventually([&] {
    const NodeStatus node = third(coordinator);
    return node.votes && node.run_id != run;
  })) << third(coordinator).trouble;
}

TEST_F(TlsSentinels, OfAnUnknownAuthorityAreNotBelieved) {
  // Otherwise an attacker in the network could lead us to a server of his own, and so gain a vote.
  authority.write(ca);
  Options options = this->options();
  options.nodes[2].tls.ca_file = ca;
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(eventually([&] {
    return third(coordinator)
               .trouble.find("127.0.0.1:" + tls_ports[0] +
                             " presented a certificate issued by an unknown "
                             "authority") != std::string::npos;
  })) << third(coordinator).trouble;
  EXPECT_FALSE(third(coordinator).votes);
}

TEST_F(TlsSentinels, ThePrimaryMustBeWhatTheyReport) {
  // The primary's certificate is for the reported address, or for server_name. The Sentinels'
  // certificates are for their own addresses in either case.
  enrol();
  present("DNS:locks.example");
  Options options = this->options();
  const std::string trusted = directory.path() / "both.pem";
  std::ofstream(trusted) << std::ifstream(ca).rdbuf()
                         << std::ifstream(nodes.server(2).settings().tls->ca_file).rdbuf();
  options.nodes[2].tls.ca_file = trusted;
  {
    Coordinator coordinator = connect(options);
    EXPECT_TRUE(eventually([&] {
      return third(coordinator).trouble.find("for locks.example, and not for 127.0.0.1") !=
             std::string::npos;
    })) << third(coordinator).trouble;
    EXPECT_EQ(third(coordinator).reason, Vote::tls_failed);
  }
  options.nodes[2].tls.server_name = "locks.example";
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(eventually([&] { return third(coordinator).votes; })) << third(coordinator).trouble;
}

TEST_F(TlsSentinels, ThatSpeakPlainTextCostTheVote) {
  Options options = this->options();
  options.nodes[2] = NodeOptions("rediss+sentinel://127.0.0.1:" + ports[0] + "/locks", "locks");
  options.connect_timeout = 2s;  // a server may wait for the end of the first line
  Coordinator coordinator = connect(options);
  EXPECT_TRUE(eventually([&] {
    const std::string trouble = third(coordinator).trouble;
    return trouble.find("does not speak TLS on this port") != std::string::npos ||
           trouble.find("no answer within connect_timeout") != std::string::npos;
  })) << third(coordinator).trouble;
  EXPECT_FALSE(third(coordinator).votes);
}

}  // namespace
}  // namespace quorumlock::test
