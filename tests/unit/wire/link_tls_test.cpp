#include "support/link_driver.hpp"

// The link of a node whose connection needs a TLS handshake first, and a link that speaks to the
// wrong one of a server's two ports.
namespace quorumlock::test {
namespace {

using Strings = std::vector<std::string>;

redis::Endpoint secure_endpoint() {
  return {.host = "n1", .tls = TlsOptions()};
}

TEST(LinkTls, AFailedHandshakeIsAVoteWithItsReason) {
  LinkDriver driver(secure_endpoint());
  driver.start();
  driver.send(1);
  driver.link.on_handshake();
  driver.link.on_handshake_failed(driver.now, "presented a certificate that expired");
  driver.feed("");  // the driver takes what the link reports
  EXPECT_EQ(driver.said(),
            (Strings{"connect", "disconnect", "down: failing in TLS", "1 failing in TLS"}));
  EXPECT_EQ(driver.link.trouble(driver.now), "presented a certificate that expired");
  driver.send(2);
  EXPECT_EQ(driver.said(), Strings{"2 failing in TLS"});
}

TEST(LinkTls, AnAlertAfterTheHandshakeIsAFailureOfTlsToo) {
  // With TLS 1.3 a server refuses a client's certificate once the client has begun to talk.
  LinkDriver driver(secure_endpoint());
  driver.start();
  driver.link.on_handshake();
  driver.open();
  driver.said();
  driver.link.on_handshake_failed(driver.now, "wants a client certificate");
  driver.feed("");  // the driver takes what the link reports
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: failing in TLS"}));
}

TEST(LinkTls, AHandshakeThatStallsIsNamed) {
  LinkDriver driver(secure_endpoint());
  driver.start();
  driver.link.on_handshake();
  driver.said();
  driver.pass(LinkDriver::connect_timeout);
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: failing in TLS"}));
  EXPECT_EQ(driver.link.trouble(driver.now),
            "no answer within connect_timeout in the TLS handshake: does this port speak TLS?");
}

TEST(LinkTls, AFailedConnectionIsNotATlsFailure) {
  LinkDriver driver(secure_endpoint());
  driver.start();
  driver.said();
  driver.pass(LinkDriver::connect_timeout);
  EXPECT_EQ(driver.said(), (Strings{"disconnect", "down: unreachable"}));
  EXPECT_EQ(driver.link.trouble(driver.now), "no answer within connect_timeout");

  driver.reconnect();
  driver.link.on_handshake();
  driver.greet();
  EXPECT_EQ(driver.said(), (Strings{"connect", "up"}));
}

TEST(LinkTls, APlainLinkThatIsHungUpOnNamesTheOtherScheme) {
  LinkDriver driver;
  driver.start();
  driver.open();
  driver.close("the node closed the connection");
  EXPECT_EQ(driver.link.trouble(driver.now),
            "the node closed the connection before its first answer: if this is its TLS port, "
            "write rediss://; if it is a proxy, name the server behind it");
  // A server that has answered speaks plain text.
  driver.reconnect();
  driver.feed(":7\r\n");
  driver.close("the node closed the connection");
  EXPECT_EQ(driver.link.trouble(driver.now), "the node closed the connection");
}

}  // namespace
}  // namespace quorumlock::test
