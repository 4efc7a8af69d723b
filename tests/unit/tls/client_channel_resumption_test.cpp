#include <gtest/gtest.h>

#include "support/tls_channel.hpp"

// What a connection leaves to the next one to the same node.
namespace quorumlock::test {
namespace {

using ClientChannelResumption = TlsChannel;

TEST_F(ClientChannelResumption, TheNextConnectionResumesTheSession) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    SCOPED_TRACE(version);
    last_ = {};
    TlsServer peer = server();
    peer.speak_only(version);
    for (const bool resumed : {false, true, true}) {
      TlsServer::Connection connection(peer);
      connect(trusting());
      talk(connection);
      ASSERT_EQ(channel_->state(), State::open) << channel_->why();
      EXPECT_EQ(channel_->resumed(), resumed);
    }
  }
}

TEST_F(ClientChannelResumption, ASessionIsNotResumedIfTheCertificateHasExpired) {
  TlsServer peer = server_with({.ends = 1h});
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  ASSERT_EQ(channel_->state(), State::open);
  TlsServer::Connection again(peer);
  connect(trusting(), "localhost", 2h);
  talk(again);
  EXPECT_EQ(channel_->state(), State::failed);
}

TEST_F(ClientChannelResumption, ASessionIsNotResumedIfOtherAuthoritiesAreTrusted) {
  Certificates own;
  own.issue("server");
  TlsServer peer(own.path("server.pem"), own.path("server.key"));
  TlsServer::Connection connection(peer);
  connect({.ca_file = own.ca()});
  talk(connection);
  ASSERT_EQ(channel_->state(), State::open);
  local::Authority("another authority").write(own.ca());
  TlsServer::Connection again(peer);
  connect({.ca_file = own.ca()});
  talk(again);
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_TRUE(channel_->why().find("unknown authority") != std::string::npos) << channel_->why();
}

}  // namespace
}  // namespace quorumlock::test
