#include <fstream>

#include <httplib.h>

#include "cli/serve_fixture.hpp"
#include "local/certificates.hpp"

// `serve` over TLS, and the certificates of its clients. httplib is the client, with OpenSSL's
// checks of the server's certificate.
namespace quorumlock::test {
namespace {

using std::chrono::hours;

constexpr const char* bearer = "0123456789abcdef0123456789abcdef";

class TlsServe : public ServeCommand {
 protected:
  TlsServe() {
    ours.write(file("ca.pem"));
    ours.issue({}, file("server.pem"), file("server.key"));
    ours.issue({.name = "web-3", .hosts = ""}, file("client.pem"), file("client.key"));
  }

  [[nodiscard]] std::string file(const std::string& name) const { return directory.path() / name; }
  /// A server that listens beyond this machine, so that clients have to show a token or a
  /// certificate.
  [[nodiscard]] Server served(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"--json",    "serve",           "--listen",
                                      "0.0.0.0:0", "--tls-cert",      file("server.pem"),
                                      "--tls-key", file("server.key")};
    words.insert(words.end(), more.begin(), more.end());
    return Server(start(words));
  }
  [[nodiscard]] Server with_client_ca() const { return served({"--client-ca", file("ca.pem")}); }
  /// The answer to a client with this certificate, or with none; nothing if there is no TLS.
  httplib::Result asked(const Server& server, const std::string& certificate = {},
                        const httplib::Headers& headers = {},
                        const std::string& path = "/api/status") const {
    httplib::SSLClient client("127.0.0.1", server.port(),
                              certificate.empty() ? "" : file(certificate + ".pem"),
                              certificate.empty() ? "" : file(certificate + ".key"));
    client.set_ca_cert_path(file("ca.pem"));
    client.enable_server_certificate_verification(true);
    client.set_connection_timeout(patience);
    client.set_read_timeout(patience);
    return client.Get(path, headers);
  }
  /// A refused client is answered with the reason.
  void expect_refused(const Server& server, const std::string& certificate,
                      const std::string& reason) const {
    const httplib::Result answer = asked(server, certificate);
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->status, 401);
    EXPECT_THAT(answer->body, HasSubstr(reason));
  }
  [[nodiscard]] Ended refused(const std::vector<std::string>& flags) const {
    std::vector<std::string> words = {"serve", "--listen", "127.0.0.1:0"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words);
  }

  const local::Authority ours{"ours"};
};

TEST_F(TlsServe, AnswersClientsWithACertificateOfTheAuthority) {
  const Server server = with_client_ca();
  EXPECT_THAT(server.url(), testing::StartsWith("https://0.0.0.0:"));
  const httplib::Result answer = asked(server, "client");
  ASSERT_TRUE(answer) << to_string(answer.error());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(json::parse(answer->body).at("nodes").size(), 3);
  expect_refused(server, "", "this client may not ask: it has shown no certificate");
  EXPECT_EQ(asked(server, "", {}, "/healthz")->status, 200);
  // The browser adds a certificate by itself, also to the requests of other sites' pages.
  EXPECT_EQ(asked(server, "client", {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
}

TEST_F(TlsServe, AClientLearnsWhatIsWrongWithItsCertificate) {
  const local::Authority theirs("theirs");
  theirs.issue({.name = "web-3"}, file("theirs.pem"), file("theirs.key"));
  ours.issue({.name = "web-3", .begins = -hours(48), .ends = -hours(24)}, file("old.pem"),
             file("old.key"));
  ours.issue({.name = "web-3", .begins = hours(24), .ends = hours(48)}, file("early.pem"),
             file("early.key"));
  // This authority has the same name, but another key.
  const local::Authority posing("ours");
  posing.issue({.name = "web-3"}, file("posing.pem"), file("posing.key"));
  const Server server = with_client_ca();
  expect_refused(server, "theirs", "its certificate is of an authority that --client-ca does not");
  expect_refused(server, "old", "its certificate has expired on 20");
  expect_refused(server, "early", "its certificate is valid only from a later time, on 20");
  expect_refused(server, "posing", "its certificate is ");
  EXPECT_EQ(asked(server, "client")->status, 200);
}

TEST_F(TlsServe, ATokenIsEnoughIfThereIsOne) {
  std::ofstream(file("token")) << bearer << "\n";
  const Server server = served({"--client-ca", file("ca.pem"), "--token-file", file("token")});
  const auto status = [&](const std::string& certificate, const std::string& token) {
    httplib::Headers headers;
    if (!token.empty()) headers.emplace("Authorization", "Bearer " + token);
    return asked(server, certificate, headers)->status;
  };
  EXPECT_EQ(status("client", ""), 200);
  EXPECT_EQ(status("", bearer), 200);
  EXPECT_EQ(status("", ""), 401);
  EXPECT_EQ(status("", std::string(bearer) + "x"), 401);
  expect_refused(server, "",
                 "it has shown no certificate; show one of an authority in "
                 "--client-ca, or give the token");
}

TEST_F(TlsServe, WithoutAnAuthorityACertificateCountsForNothing) {
  std::ofstream(file("token")) << bearer << "\n";
  const Server server = served({"--token-file", file("token")});
  EXPECT_EQ(asked(server, "client")->status, 401);
  EXPECT_EQ(asked(server, "", {{"Authorization", "Bearer " + std::string(bearer)}})->status, 200);
}

TEST_F(TlsServe, SendsEventsAndEndsWithStreamsOpen) {
  Server server = with_client_ca();
  httplib::SSLClient client("127.0.0.1", server.port(), file("client.pem"), file("client.key"));
  client.set_ca_cert_path(file("ca.pem"));
  client.set_read_timeout(patience);
  std::string text;
  bool asked_to_end = false;
  (void)client.Get("/api/events", [&](const char* data, std::size_t size) {
    text.append(data, size);
    if (!asked_to_end && text.find("event: status") != text.npos) {
      asked_to_end = true;
      server.program().signal(SIGTERM);
    }
    return true;
  });
  EXPECT_TRUE(asked_to_end) << text;
  const Ended ended = server.program().finish();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(TlsServe, PlainTextOnATlsPortIsRefusedInASentence) {
  const Server server = with_client_ca();
  const HttpAnswer plain = server.get("/api/status");
  EXPECT_EQ(plain.status, 400);
  EXPECT_EQ(plain.body, "this port speaks TLS: ask for https:// instead of http://\n");
  // Broken handshakes, and clients that say nothing, keep no other client out.
  std::vector<HttpConnection> others;
  for (int i = 0; i < 20; ++i) {
    others.emplace_back(server.port());
    if (i % 2 == 0) others.back().send(std::string("\x16\x03\x01\x00\x05hello", 10));
  }
  EXPECT_EQ(asked(server, "client")->status, 200);
}

TEST_F(TlsServe, ReadsItsFilesAgainIfTheyHaveChanged) {
  // The client trusts only the new authority, and its certificate is of that authority.
  Server server = with_client_ca();
  EXPECT_EQ(asked(server, "client")->status, 200);
  const local::Authority next("next");
  next.issue({.name = "web-3"}, file("next.pem"), file("next.key"));
  expect_refused(server, "next", "an authority that --client-ca does not name");
  next.write(file("ca.pem"));
  next.issue({}, file("server.pem"), file("server.key"));
  EXPECT_EQ(asked(server, "next")->status, 200);
  // Files that cannot be used leave the last ones in force.
  std::ofstream(file("server.key")) << "nonsense\n";
  EXPECT_EQ(asked(server, "next")->status, 200);
  server.program().signal(SIGTERM);
  EXPECT_THAT(server.program().finish().err,
              HasSubstr("which is not the key of the certificate in --tls-cert"));
}

TEST_F(TlsServe, BadFilesAreSentences) {
  const std::string cert = file("server.pem"), key = file("server.key");
  const auto says = [&](const std::vector<std::string>& flags, const std::string& sentence) {
    const Ended ended = refused(flags);
    EXPECT_EQ(ended.code, 64);
    EXPECT_THAT(ended.err, HasSubstr(sentence));
  };
  says({"--tls-cert", cert}, "--tls-cert is given without --tls-key: give both");
  says({"--tls-key", key}, "--tls-key is given without --tls-cert: give both");
  says({"--client-ca", file("ca.pem")}, "--client-ca is given without --tls-cert and --tls-key");
  says({"--tls-cert", "/nowhere", "--tls-key", key},
       "--tls-cert is \"/nowhere\", which cannot be read: No such file or directory");
  says({"--tls-cert", key, "--tls-key", key}, "which has no certificate in PEM form");
  says({"--tls-cert", cert, "--tls-key", file("client.key")},
       "which is not the key of the certificate in --tls-cert");
  says({"--tls-cert", cert, "--tls-key", key, "--client-ca", key}, "--client-ca is \"" + key);
  const Ended open = run({"serve", "--listen", "0.0.0.0:0", "--tls-cert", cert, "--tls-key", key});
  EXPECT_EQ(open.code, 64);
  EXPECT_THAT(open.err, HasSubstr("give --token-file FILE"));
  EXPECT_THAT(open.err, HasSubstr("or --client-ca FILE"));
}

}  // namespace
}  // namespace quorumlock::test
