#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include "support/tls_server.hpp"
#include "tls/contexts.hpp"

namespace quorumlock::test {

using namespace std::chrono_literals;
using tls::Channel;
using State = tls::Channel::State;

/// A channel and a server of OpenSSL's own, back to back.
class TlsChannel : public ::testing::Test {
 protected:
  TlsChannel() { certificates().issue("server"); }
  static Certificates& certificates() {
    static Certificates certificates;
    return certificates;
  }
  static TlsOptions trusting() { return {.ca_file = certificates().ca()}; }
  static TlsServer server(const std::string& name = "server") {
    return {certificates().path(name + ".pem"), certificates().path(name + ".key")};
  }
  /// A server whose certificate says this.
  static TlsServer server_with(const local::CertificateSettings& settings) {
    certificates().issue("special", settings);
    return server("special");
  }

  Channel& connect(const TlsOptions& options, const std::string& host = "localhost",
                   std::chrono::seconds later = 0s) {
    (void)contexts_.take(options, tls::Files::read(options));
    Result<std::unique_ptr<Channel>> made =
        contexts_.connect(options, host, std::time(nullptr) + later.count(), last_);
    EXPECT_TRUE(made.has_value());
    said_.clear();
    channel_ = *std::move(made);
    return *channel_;
  }
  /// Gives the channel these bytes, in pieces of `step`.
  void feed(std::string_view bytes, std::size_t step = 1 << 20) {
    while (!bytes.empty()) {
      const std::string piece(bytes.substr(0, step));  // it lives as briefly as a socket's buffer
      bytes.remove_prefix(piece.size());
      channel_->on_bytes(piece);
      for (;;) {
        char plain[1000];
        const std::size_t size = channel_->read(plain);
        if (size == 0) break;
        said_.append(plain, size);
      }
    }
  }
  std::string output() {
    std::string bytes(channel_->output());
    channel_->wrote(bytes.size());
    return bytes;
  }
  /// Carries bytes to and fro until there are none.
  void talk(TlsServer::Connection& peer, std::size_t step = 1 << 20) {
    for (;;) {
      const std::string to_peer = output();
      for (std::size_t at = 0; at < to_peer.size(); at += step) {
        peer.feed(std::string_view(to_peer).substr(at, step));
      }
      const std::string to_us = peer.output();
      if (to_peer.empty() && to_us.empty()) return;
      feed(to_us, step);
    }
  }
  /// Returns why a channel with these options does not complete its handshake with this server.
  std::string refusal(TlsServer peer, const TlsOptions& options,
                      const std::string& host = "localhost") {
    connect(options, host);
    TlsServer::Connection connection(peer);
    talk(connection);
    connection.say("+PONG\r\n");
    talk(connection);
    EXPECT_EQ(channel_->state(), State::failed);
    EXPECT_EQ(said_, "");
    return channel_->why();
  }

  tls::Contexts contexts_;
  tls::Resumption last_;
  std::unique_ptr<Channel> channel_;
  std::string said_;  // what the server said, as plain text
};

}  // namespace quorumlock::test
