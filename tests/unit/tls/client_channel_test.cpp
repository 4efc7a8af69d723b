#include "tls/client_channel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "support/tls_channel.hpp"

// A channel and a server of OpenSSL's own, back to back: no socket, and no time passes by itself.
namespace quorumlock::test {
namespace {

using ClientChannelTest = TlsChannel;

TEST_F(ClientChannelTest, CarriesTextBothWaysInEachVersionByteByByte) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
      SCOPED_TRACE(std::to_string(version) + " in steps of " + std::to_string(step));
      last_ = {};
      TlsServer peer = server();
      peer.speak_only(version);
      TlsServer::Connection connection(peer);
      connect(trusting());
      EXPECT_EQ(channel_->state(), State::handshaking);
      talk(connection, step);
      ASSERT_EQ(channel_->state(), State::open) << channel_->why();
      EXPECT_EQ(peer.asked_for, "localhost");
      channel_->write("PING\r\n");
      talk(connection, step);
      EXPECT_EQ(connection.heard, "PING\r\n");
      connection.say("+PONG\r\n");
      talk(connection, step);
      EXPECT_EQ(said_, "+PONG\r\n");
    }
  }
}

TEST_F(ClientChannelTest, AnAbsoluteNameIsTheSameName) {
  // Certificates and the name that the server is asked for have no dot at the end.
  for (const TlsOptions& options :
       {trusting(), TlsOptions{.ca_file = certificates().ca(), .server_name = "localhost."}}) {
    last_ = {};
    TlsServer peer = server();
    TlsServer::Connection connection(peer);
    connect(options, options.server_name ? "elsewhere" : "localhost.");
    talk(connection);
    EXPECT_EQ(channel_->state(), State::open) << channel_->why();
    EXPECT_EQ(peer.asked_for, "localhost");
  }
}

TEST_F(ClientChannelTest, CarriesAMegabyteBothWays) {
  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  std::string text(1 << 20, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 >> 3);
  channel_->write(text);
  connection.say(text);
  talk(connection, 16 * 1024);
  EXPECT_TRUE(connection.heard == text);
  EXPECT_TRUE(said_ == text);
}

TEST_F(ClientChannelTest, NothingReadableIsSent) {
  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  channel_->write("AUTH hunter2");
  EXPECT_EQ(output().find("hunter2"), std::string::npos);
}

TEST_F(ClientChannelTest, RefusesAnExpiredCertificate) {
  const std::string why = refusal(server_with({.begins = -48h, .ends = -24h}), trusting());
  EXPECT_TRUE(why.starts_with("presented a certificate that expired on 20")) << why;
  EXPECT_TRUE(why.ends_with(" UTC")) << why;
}

TEST_F(ClientChannelTest, RefusesACertificateThatIsNotYetValid) {
  const std::string why = refusal(server_with({.begins = 24h}), trusting());
  EXPECT_TRUE(why.starts_with("presented a certificate that is not valid before 20")) << why;
}

TEST_F(ClientChannelTest, JudgesDatesByTheTimeThatItIsGiven) {
  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting(), "localhost", 24h * 366);
  talk(connection);
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_TRUE(channel_->why().starts_with("presented a certificate that expired on "));
}

TEST_F(ClientChannelTest, RefusesACertificateForAnotherHost) {
  EXPECT_EQ(refusal(server_with({.hosts = "DNS:a.example,DNS:b.example"}), trusting(), "c.example"),
            "presented a certificate for a.example, b.example, and not for c.example: name the "
            "node as its certificate does, or set tls.server_name");
}

TEST_F(ClientChannelTest, RefusesACertificateForAnotherAddress) {
  EXPECT_EQ(
      refusal(server_with({.hosts = "DNS:localhost,IP:127.0.0.1,IP:::1"}), trusting(), "127.0.0.2"),
      "presented a certificate for localhost, 127.0.0.1, ::1, and not for 127.0.0.2: name "
      "the node as its certificate does, or set tls.server_name");
}

TEST_F(ClientChannelTest, TheOwnersNameOfACertificateIsNotAHostName) {
  const std::string why =
      refusal(server_with({.name = "localhost", .hosts = ""}), trusting(), "localhost");
  EXPECT_TRUE(why.starts_with("presented a certificate without a host name or IP address")) << why;
}

TEST_F(ClientChannelTest, AWildcardStandsForOneWholeLabel) {
  {
    TlsServer peer = server_with({.hosts = "DNS:*.lock.example"});
    TlsServer::Connection connection(peer);
    connect(trusting(), "a.lock.example");
    talk(connection);
    EXPECT_EQ(channel_->state(), State::open) << channel_->why();
  }
  for (const auto& [pattern, host] : {std::pair("*.lock.example", "a.b.lock.example"),
                                      {"*.lock.example", "lock.example"},
                                      {"a*.lock.example", "ab.lock.example"}}) {
    const std::string why =
        refusal(server_with({.hosts = std::string("DNS:") + pattern}), trusting(), host);
    EXPECT_TRUE(why.starts_with(std::string("presented a certificate for ") + pattern)) << why;
  }
}

TEST_F(ClientChannelTest, AStrangersNamesAreShortAndPrintable) {
  std::string hosts = "DNS:\x1b[2J.example";
  for (int i = 0; i < 20; ++i) hosts += ",DNS:" + std::string(200, 'a');
  const std::string why = refusal(server_with({.hosts = hosts}), trusting());
  EXPECT_TRUE(std::ranges::all_of(why, [](char c) { return c >= ' ' && c <= '~'; })) << why;
  EXPECT_LT(why.size(), 1000U);
}

TEST_F(ClientChannelTest, AcceptsAnAddressAndAnotherServerName) {
  for (const auto& [host, name] :
       {std::pair("127.0.0.1", std::optional<std::string>()),
        std::pair("10.0.0.7", std::optional<std::string>("localhost")),
        std::pair("x.example", std::optional<std::string>("127.0.0.1"))}) {
    TlsServer peer = server();
    TlsServer::Connection connection(peer);
    TlsOptions options = trusting();
    options.server_name = name;
    connect(options, host);
    talk(connection);
    EXPECT_EQ(channel_->state(), State::open) << host << ": " << channel_->why();
    EXPECT_EQ(peer.asked_for, name == "localhost" ? "localhost" : "");  // no SNI for an address
  }
}

TEST_F(ClientChannelTest, RefusesAnUnknownAuthority) {
  const local::Authority other("another authority");
  other.issue({}, certificates().path("other.pem"), certificates().path("other.key"));
  EXPECT_EQ(refusal(server("other"), trusting()),
            "presented a certificate issued by an unknown authority (CN=another authority): name "
            "its CA by tls.ca_file or tls.ca_dir");
  // None of the system's authorities has issued the test's certificate, either.
  EXPECT_TRUE(refusal(server(), {})
                  .starts_with("presented a certificate issued by an unknown authority "
                               "(CN=quorumlock local authority)"));
}

TEST_F(ClientChannelTest, RefusesACertificateThatIsNotMadeForServers) {
  // A client of the same authority could otherwise answer in a node's place.
  EXPECT_EQ(refusal(server_with({.purposes = "clientAuth"}), trusting()),
            "presented a certificate that is not made for servers (extendedKeyUsage, keyUsage)");
}

TEST_F(ClientChannelTest, RefusesCertificatesOfABadAuthority) {
  const auto refusal_by = [&](const local::AuthoritySettings& settings) {
    const local::Authority bad(settings);
    bad.write(certificates().path("bad-ca.pem"));
    bad.issue({}, certificates().path("bad.pem"), certificates().path("bad.key"));
    return refusal(server("bad"), {.ca_file = certificates().path("bad-ca.pem")});
  };
  const std::string expired = refusal_by({.name = "old", .ends = -1h});
  EXPECT_TRUE(expired.starts_with("presented a certificate whose authority (CN=old) expired on 20"))
      << expired;
  // The owner of any certificate could otherwise issue one for every host.
  const std::string none = refusal_by({.name = "a leaf", .may_issue = false});
  EXPECT_TRUE(none.starts_with("presented a certificate whose authority (CN=a leaf) is refused: "))
      << none;
}

TEST_F(ClientChannelTest, AcceptsAnyCertificateOnlyIfConfiguredSo) {
  TlsServer peer = server_with({.hosts = "DNS:a.example", .begins = -48h, .ends = -24h});
  TlsServer::Connection connection(peer);
  connect({.unsafe_skip_verify = true}, "b.example");
  talk(connection);
  EXPECT_EQ(channel_->state(), State::open) << channel_->why();
}

TEST_F(ClientChannelTest, NamesAMissingClientCertificate) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TlsServer peer = server();
    peer.speak_only(version);
    peer.want_certificate(certificates().ca());
    EXPECT_EQ(refusal(std::move(peer), trusting()),
              "wants a client certificate: set tls.cert_file and tls.key_file");
    EXPECT_TRUE(channel_->lacks_certificate());
  }
}

TEST_F(ClientChannelTest, PresentsAClientCertificate) {
  TlsServer peer = server();
  peer.want_certificate(certificates().ca());
  TlsServer::Connection connection(peer);
  certificates().issue("client", {.name = "client"});
  TlsOptions options = trusting();
  options.cert_file = certificates().path("client.pem");
  options.key_file = certificates().path("client.key");
  connect(options);
  talk(connection);
  channel_->write("PING\r\n");
  talk(connection);
  EXPECT_EQ(connection.heard, "PING\r\n") << channel_->why();
}

TEST_F(ClientChannelTest, NamesAClientCertificateThatTheServerDoesNotTrust) {
  const local::Authority other("another authority");
  other.issue({}, certificates().path("stranger.pem"), certificates().path("stranger.key"));
  TlsOptions options = trusting();
  options.cert_file = certificates().path("stranger.pem");
  options.key_file = certificates().path("stranger.key");
  TlsServer peer = server();
  peer.want_certificate(certificates().ca());
  EXPECT_EQ(refusal(std::move(peer), options),
            "does not know the authority that issued our certificate (tls.cert_file)");
}

TEST_F(ClientChannelTest, NamesAClientCertificateThatHasExpired) {
  certificates().issue("old", {.begins = -48h, .ends = -24h});
  TlsOptions options = trusting();
  options.cert_file = certificates().path("old.pem");
  options.key_file = certificates().path("old.key");
  TlsServer peer = server();
  peer.want_certificate(certificates().ca());
  EXPECT_EQ(refusal(std::move(peer), options),
            "says that our certificate (tls.cert_file) has expired");
}

TEST_F(ClientChannelTest, RefusesVersionsBelowTheLeast) {
  TlsServer peer = server();
  peer.speak_only(TLS1_2_VERSION);
  TlsOptions options = trusting();
  options.min_version = TlsVersion::tls_1_3;
  const std::string why = refusal(std::move(peer), options);
  EXPECT_TRUE(why.find("tls.min_version") != why.npos) << why;

  TlsServer old = server();
  old.speak_only(TLS1_1_VERSION);
  const std::string older = refusal(std::move(old), trusting());
  EXPECT_TRUE(older.find("tls.min_version") != older.npos || older.find("TLS 1.2") != older.npos)
      << older;
}

TEST_F(ClientChannelTest, NamesAServerThatSpeaksPlainText) {
  connect(trusting());
  feed("-ERR unknown command\r\n");
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_EQ(channel_->why(),
            "does not speak TLS on this port: name the node's TLS port, or write redis://");
}

TEST_F(ClientChannelTest, GarbageInTheHandshakeAndAfterItIsNamed) {
  connect(trusting());
  feed(std::string("\x16\x03\x03\x00\x05zzzzz", 10));
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_TRUE(channel_->why().starts_with("broke the rules of TLS: ")) << channel_->why();

  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  ASSERT_EQ(channel_->state(), State::open);
  connection.say("+PONG\r\n");
  std::string forged = connection.output();
  forged.back() = static_cast<char>(forged.back() ^ 1);
  feed(forged);
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_TRUE(channel_->why().starts_with("broke the rules of TLS: ")) << channel_->why();
  EXPECT_EQ(said_, "");
}

TEST_F(ClientChannelTest, HalfARecordGivesNoText) {
  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  connection.say("+PONG\r\n");
  const std::string record = connection.output();
  feed(std::string_view(record).substr(0, record.size() / 2));
  EXPECT_EQ(channel_->state(), State::open);
  EXPECT_EQ(said_, "");
  feed(std::string_view(record).substr(record.size() / 2));
  EXPECT_EQ(said_, "+PONG\r\n");
}

TEST_F(ClientChannelTest, AHandshakeWithoutEndIsRefused) {
  connect(trusting());
  // A handshake message of 16 MiB begins, one record after the other.
  const std::string body(16 * 1024 - 4, 'x');
  feed(std::string("\x16\x03\x03\x40\x00\x02\xff\xff\xff", 9) + body);
  for (int i = 0; i < 100 && channel_->state() == State::handshaking; ++i) {
    feed(std::string("\x16\x03\x03\x40\x00", 5) + std::string(16 * 1024, 'x'));
  }
  EXPECT_EQ(channel_->state(), State::failed);
}

TEST_F(ClientChannelTest, RecordsWithoutEndThatHaveNoTextAreRefused) {
  // A node could otherwise keep the client busy, and let it hold an answer to each change of keys
  // that it does not read.
  const auto change_keys = [](SSL* ssl) { return SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED); };
  const auto give_ticket = [](SSL* ssl) { return SSL_new_session_ticket(ssl); };
  for (const auto& act : {std::function<int(SSL*)>(change_keys), {give_ticket}}) {
    TlsServer peer = server();
    TlsServer::Connection connection(peer);
    connect(trusting());
    talk(connection);
    ASSERT_EQ(channel_->state(), State::open);
    for (int i = 0; i < 100'000 && channel_->state() == State::open; ++i) {
      ASSERT_EQ(act(connection.ssl()), 1);
      SSL_do_handshake(connection.ssl());
      feed(connection.output());
    }
    EXPECT_EQ(channel_->why(), "sends TLS records without end, and no text in them");
    EXPECT_LT(channel_->output().size(), std::size_t{300} << 10);
  }
}

TEST_F(ClientChannelTest, ChangesOfKeysAmongTextAreNotAFault) {
  TlsServer peer = server();
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  for (int i = 0; i < 20'000; ++i) {
    SSL_key_update(connection.ssl(), SSL_KEY_UPDATE_NOT_REQUESTED);
    connection.say("x");
    feed(connection.output());
  }
  EXPECT_EQ(channel_->state(), State::open) << channel_->why();
  EXPECT_EQ(said_.size(), 20'000U);
}

TEST_F(ClientChannelTest, RenegotiationIsRefused) {
  TlsServer peer = server();
  peer.speak_only(TLS1_2_VERSION);
  TlsServer::Connection connection(peer);
  connect(trusting());
  talk(connection);
  ASSERT_EQ(channel_->state(), State::open);
  SSL_renegotiate(connection.ssl());
  SSL_do_handshake(connection.ssl());
  talk(connection);
  EXPECT_EQ(channel_->state(), State::failed);
  EXPECT_EQ(channel_->why(), "asked to renegotiate the TLS connection, which is refused");
}

TEST_F(ClientChannelTest, BothEndsCanCloseProperly) {
  TlsServer peer = server();
  TlsServer::Connection first(peer);
  connect(trusting());
  talk(first);
  channel_->shut_down();
  talk(first);
  EXPECT_NE(SSL_get_shutdown(first.ssl()) & SSL_RECEIVED_SHUTDOWN, 0);

  TlsServer::Connection second(peer);
  connect(trusting());
  talk(second);
  SSL_shutdown(second.ssl());
  talk(second);
  EXPECT_EQ(channel_->state(), State::closed);
}

}  // namespace
}  // namespace quorumlock::test
