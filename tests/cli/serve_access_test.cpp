#include <fstream>

#include "cli/serve_fixture.hpp"

namespace quorumlock::test {
namespace {

constexpr const char* secret = "0123456789abcdef0123456789abcdef";

class ServeAccess : public ServeCommand {
 protected:
  [[nodiscard]] std::string file_with(const std::string& token) const {
    const std::string path = directory.path() / "token";
    std::ofstream(path) << token << "\n";
    return path;
  }
  [[nodiscard]] Ended refused(const std::vector<std::string>& flags) const {
    std::vector<std::string> words = {"serve"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run(words);
  }
};

TEST_F(ServeAccess, NothingCanBeChanged) {
  // A request that is neither GET nor HEAD is refused before its body is read, and the reply to
  // HEAD has no body.
  const Server server = serve();
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const HttpAnswer answer = server.ask(method, "/api/status", "Content-Length: 1000000000\r\n");
    EXPECT_EQ(answer.status, 405) << method;
    EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD");
    EXPECT_THAT(answer.body, HasSubstr("nothing can be changed here"));
  }
  const HttpAnswer head = server.ask("HEAD", "/api/status");
  EXPECT_EQ(head.status, 200);
  EXPECT_THAT(head.body, IsEmpty());
  EXPECT_GT(std::stoi(head.headers.at("content-length")), 100);
  EXPECT_EQ(server.ask("HEAD", "/api/events").status, 200);
}

TEST_F(ServeAccess, PagesOfOtherSitesCannotReadIt) {
  // A host name of such a site may stand for 127.0.0.1, but the browser sends that name as the
  // Host.
  const Server server = serve();
  const auto status = [&](const std::string& headers) {
    return server.get("/api/status", headers).status;
  };
  EXPECT_EQ(status("Host: evil.example:9470\r\n"), 403);
  EXPECT_EQ(status("Host: localhost.evil.example\r\n"), 403);
  EXPECT_EQ(status("Host: \r\n"), 403);
  EXPECT_EQ(status("Host: localhost\r\n"), 200);
  EXPECT_EQ(status("Host: LocalHost:8080\r\n"), 200);  // through a tunnel
  EXPECT_EQ(status("Host: [::1]:9470\r\n"), 200);
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
  EXPECT_EQ(status("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 200);
  const HttpAnswer answer = server.get("/api/status");
  EXPECT_EQ(answer.headers.at("x-content-type-options"), "nosniff");
  EXPECT_EQ(answer.headers.at("x-frame-options"), "DENY");
  EXPECT_THAT(answer.headers.at("content-security-policy"), HasSubstr("script-src 'self'"));
  EXPECT_THAT(answer.headers.at("content-security-policy"), Not(HasSubstr("unsafe")));
  EXPECT_FALSE(answer.headers.contains("access-control-allow-origin"));
}

TEST_F(ServeAccess, LongOrManifoldRequestsCostLittle) {
  const Server server = serve();
  std::string ranges = "Range: bytes=0-";
  for (int i = 0; i < 1000; ++i) ranges += ",0-";
  const HttpAnswer whole = server.get("/metrics", ranges + "\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(whole.status, 200);
  EXPECT_LT(whole.body.size(), 2 * server.get("/metrics").body.size());
  EXPECT_FALSE(whole.headers.contains("content-encoding"));
  EXPECT_EQ(server.get("/" + std::string(10'000, 'x')).status, 414);
  HttpConnection endless(server.port());
  endless.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 2000; ++i)
    endless.send("X-" + std::to_string(i) + ": " + std::string(50, 'x') + "\r\n");
  EXPECT_TRUE(endless.ends());
  EXPECT_EQ(server.get("/healthz").status, 200);
}

TEST_F(ServeAccess, WantsATokenBeyondThisMachine) {
  const Ended open = refused({"--listen", "0.0.0.0:0"});
  EXPECT_EQ(open.code, 64);
  EXPECT_THAT(open.err, HasSubstr("which other machines can reach: give --token-file"));
  EXPECT_EQ(refused({"--listen", "[::]:0"}).code, 64);
  EXPECT_EQ(refused({"--listen", "0.0.0.0:0", "--token-file", "/nowhere"}).code, 64);
  const Ended weak = refused({"--listen", "0.0.0.0:0", "--token-file", file_with("short")});
  EXPECT_EQ(weak.code, 64);
  EXPECT_THAT(weak.err, HasSubstr("has 5 letters"));
  EXPECT_THAT(weak.err, Not(HasSubstr("short")));

  const Server server = Server(
      start({"--json", "serve", "--listen", "0.0.0.0:0", "--token-file", file_with(secret)}));
  const auto status = [&](const std::string& authorization) {
    return server.get("/api/status", "Host: lock-1.example\r\n" + authorization).status;
  };
  EXPECT_EQ(server.get("/healthz", "Host: lock-1.example\r\n").status, 200);
  const HttpAnswer asked = server.get("/");
  EXPECT_EQ(asked.status, 401);
  EXPECT_THAT(asked.headers.at("www-authenticate"), HasSubstr("Basic realm"));
  EXPECT_EQ(status(""), 401);
  EXPECT_EQ(status("Authorization: Bearer " + std::string(secret) + "\r\n"), 200);
  EXPECT_EQ(status("Authorization: Bearer " + std::string(secret) + "x\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer " + std::string(secret).substr(1) + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer\r\n"), 401);
  // A browser sends the token as a password: base64 of "me:" and the token.
  EXPECT_EQ(status("Authorization: Basic "
                   "bWU6MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\r\n"),
            200);
  EXPECT_EQ(status("Authorization: Basic bWU6b3RoZXI=\r\n"), 401);
  // The file with the token may be replaced.
  (void)file_with("another token that is long enough");
  EXPECT_EQ(status("Authorization: Bearer " + std::string(secret) + "\r\n"), 401);
  EXPECT_EQ(status("Authorization: Bearer another token that is long enough\r\n"), 200);
}

TEST_F(ServeAccess, BadAddressesAreRefused) {
  for (const char* address :
       {"9470", "127.0.0.1", "127.0.0.1:", "127.0.0.1:port", ":9470", "127.0.0.1:65536", "::1:9470",
        "[127.0.0.1]:9470", "no such host:9470"}) {
    const Ended ended = refused({"--listen", address});
    EXPECT_EQ(ended.code, 64) << address;
    EXPECT_THAT(ended.err, HasSubstr(std::string("--listen is \"") + address + "\""));
  }
}

TEST_F(ServeAccess, APortInUseIsASentence) {
  const Server server = serve();
  const std::string port = std::to_string(server.port());
  const Ended ended = refused({"--listen", "127.0.0.1:" + port});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err,
              HasSubstr("cannot listen on 127.0.0.1:" + port + ": Address already in use"));
}

}  // namespace
}  // namespace quorumlock::test
