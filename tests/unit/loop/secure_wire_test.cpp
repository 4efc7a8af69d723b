#include "loop/secure_wire.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <vector>

#include "support/tls_server.hpp"

namespace quorumlock::test {
namespace {

/// A wire that notes its inputs.
class NotedWire final : public redis::Wire {
 public:
  explicit NotedWire(const TlsOptions& tls) { endpoint_.tls = tls; }
  [[nodiscard]] const redis::Endpoint& endpoint() const override { return endpoint_; }
  void on_awaiting(std::string_view) override {}
  void on_open() override { told.emplace_back("open"); }
  void on_closed(core::Time, std::string_view why) override {
    told.push_back("closed: " + std::string(why));
  }
  void on_handshake() override { told.emplace_back("handshake"); }
  void on_handshake_failed(core::Time, std::string_view why) override {
    told.push_back("failed: " + std::string(why));
  }
  void log_in(core::Time, const redis::Login&) override {}
  void on_no_login(core::Time, std::string_view) override {}
  void on_bytes(std::string_view bytes) override { heard += bytes; }
  [[nodiscard]] std::string_view output() const override { return to_send; }
  void wrote(std::size_t bytes) override { to_send.erase(0, bytes); }

  std::vector<std::string> told;
  std::string heard, to_send;

 private:
  redis::Endpoint endpoint_{.host = "localhost"};
};

class SecureWires : public ::testing::Test {
 protected:
  SecureWires() { certificates_.issue("server"); }

  bool begin(const std::string& host = "localhost") {
    const TlsOptions& options = *wire_.endpoint().tls;
    (void)contexts_.take(options, tls::Files::read(options));
    return secure_.begin({}, std::time(nullptr), host);
  }
  /// Carries bytes to and fro until there are none.
  void talk() {
    for (;;) {
      secure_.encrypt();
      const std::string to_peer(secure_.output());
      if (!to_peer.empty()) secure_.wrote(to_peer.size());
      peer_.feed(to_peer);
      const std::string to_us = peer_.output();
      if (to_peer.empty() && to_us.empty()) return;
      if (!to_us.empty()) secure_.on_bytes({}, to_us);
    }
  }
  void open() {
    ASSERT_TRUE(begin());
    secure_.on_open();
    talk();
    ASSERT_EQ(wire_.told, (std::vector<std::string>{"handshake", "open"}));
    wire_.told.clear();
  }

  void connect_anew(const std::string& host) {
    secure_.on_closed({}, "the node closed the connection");
    wire_.told.clear();
    TlsServer::Connection again(server_);
    std::swap(peer_, again);
    ASSERT_TRUE(begin(host));
    secure_.on_open();
    talk();
    ASSERT_EQ(wire_.told, (std::vector<std::string>{"handshake", "open"}));
  }

  Certificates certificates_;
  TlsServer server_{(certificates_.issue("server"), certificates_.path("server.pem")),
                    certificates_.path("server.key")};
  TlsServer::Connection peer_{server_};
  tls::Contexts contexts_;
  NotedWire wire_{{.ca_file = certificates_.ca()}};
  detail::SecureWire secure_{wire_, contexts_};
};

TEST_F(SecureWires, AWireIsOpenOnceTheHandshakeIsDone) {
  wire_.to_send = "PING\r\n";
  ASSERT_TRUE(begin());
  secure_.on_open();
  secure_.encrypt();
  EXPECT_EQ(wire_.told, std::vector<std::string>{"handshake"});
  EXPECT_EQ(wire_.to_send, "PING\r\n");
  talk();
  EXPECT_EQ(wire_.told, (std::vector<std::string>{"handshake", "open"}));
  EXPECT_EQ(peer_.heard, "PING\r\n");
  peer_.say("+PONG\r\n");
  talk();
  EXPECT_EQ(wire_.heard, "+PONG\r\n");
}

TEST_F(SecureWires, ARefusedCertificateIsAFailedHandshake) {
  local::Authority("another authority").write(certificates_.ca());
  ASSERT_TRUE(begin());
  secure_.on_open();
  talk();
  ASSERT_EQ(wire_.told.size(), 2U);
  EXPECT_TRUE(
      wire_.told[1].starts_with("failed: presented a certificate issued by an unknown authority"))
      << wire_.told[1];
}

TEST_F(SecureWires, AFileThatCannotBeReadIsAFailedHandshake) {
  std::filesystem::remove(certificates_.ca());
  EXPECT_FALSE(begin());
  ASSERT_EQ(wire_.told.size(), 1U);
  EXPECT_TRUE(wire_.told[0].starts_with("failed: is not connected to: tls.ca_file is "));
}

TEST_F(SecureWires, AFailedConnectionIsNotAFailedHandshake) {
  ASSERT_TRUE(begin());
  secure_.on_closed({}, "Connection refused");
  EXPECT_EQ(wire_.told, std::vector<std::string>{"closed: Connection refused"});
}

TEST_F(SecureWires, AConnectionThatEndsInItsHandshakeIsAFailedHandshake) {
  ASSERT_TRUE(begin());
  secure_.on_open();
  secure_.on_closed({}, "the node closed the connection");
  EXPECT_EQ(wire_.told[1],
            "failed: broke off the TLS handshake (the node closed the connection): does this port "
            "speak TLS?");
}

TEST_F(SecureWires, AConnectionThatEndsLaterIsClosed) {
  open();
  secure_.on_closed({}, "the node closed the connection");
  EXPECT_EQ(wire_.told, std::vector<std::string>{"closed: the node closed the connection"});
}

TEST_F(SecureWires, AProperEndByThePeerClosesTheConnection) {
  open();
  SSL_shutdown(peer_.ssl());
  secure_.on_bytes({}, peer_.output());
  EXPECT_EQ(wire_.told, std::vector<std::string>{"closed: the node closed the connection"});
}

TEST_F(SecureWires, BytesThatTheSocketDoesNotTakeWaitInTheWire) {
  open();
  wire_.to_send.assign(std::size_t{4} << 20, 'x');
  for (int i = 0; i < 10; ++i) secure_.encrypt();
  EXPECT_LT(secure_.output().size(), std::size_t{300} << 10);
  EXPECT_GT(wire_.to_send.size(), std::size_t{3} << 20);
  talk();
  EXPECT_EQ(peer_.heard.size(), std::size_t{4} << 20);
}

TEST_F(SecureWires, ThePeerIsNotifiedOfOurEnd) {
  open();
  secure_.end();
  talk();
  EXPECT_NE(SSL_get_shutdown(peer_.ssl()) & SSL_RECEIVED_SHUTDOWN, 0);
}

TEST_F(SecureWires, NothingFollowsCommandsThatTheSocketDidNotTake) {
  open();
  wire_.to_send = "PING\r\n";
  secure_.encrypt();
  secure_.end();
  EXPECT_EQ(secure_.output(), "");
}

TEST_F(SecureWires, CanConnectAnew) {
  open();
  connect_anew("localhost");
  EXPECT_TRUE(SSL_session_reused(peer_.ssl()));
}

TEST_F(SecureWires, ASessionIsOnlyForTheHostThatItWasMadeWith) {
  // Sentinels report another server, whose certificate has to be checked anew.
  open();
  connect_anew("127.0.0.1");
  EXPECT_FALSE(SSL_session_reused(peer_.ssl()));
}

}  // namespace
}  // namespace quorumlock::test
