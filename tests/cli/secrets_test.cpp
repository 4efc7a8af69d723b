#include <algorithm>
#include <fstream>
#include <memory>
#include <utility>

#include "cli/serve_fixture.hpp"
#include "local/certificates.hpp"
#include "support/hostile_server.hpp"

// A marked password is given in each way to each command, with connections that succeed and that
// fail, and is searched for in all that comes out.
namespace quorumlock::test {
namespace {

/// Each half is searched for: an error may cut a URL in two, and the signs between them are those
/// that a URL has to escape.
const std::string password = "Marked1:p@ss,w/Marked2";
const std::string escaped = "Marked1%3Ap%40ss%2Cw%2FMarked2";

void expect_hidden(const std::string& text, const std::string& where) {
  EXPECT_THAT(text, Not(HasSubstr("Marked1"))) << where;
  EXPECT_THAT(text, Not(HasSubstr("Marked2"))) << where;
}
void expect_hidden(const Ended& ended, const std::string& where) {
  expect_hidden(ended.out, where + ", on standard output");
  expect_hidden(ended.err, where + ", on standard error");
}

enum class Way { flag, variable, url_in_file, password_file, password_env };
constexpr Way ways[] = {Way::flag, Way::variable, Way::url_in_file, Way::password_file,
                        Way::password_env};

/// How a program gets its nodes: words before the command, and variables.
struct Given {
  std::vector<std::string> words = {};
  std::vector<std::string> environment = {};
};

/// A command, and whether it goes on until a signal ends it if there is no quorum.
struct Verb {
  std::vector<std::string> words;
  bool waits = false;
};

/// Prints what a command can see of its parent and of itself.
constexpr const char* look_around =
    "for file in cmdline environ; do tr '\\0' ' ' < /proc/$PPID/$file; done; "
    "tr '\\0' '\\n' < /proc/$$/environ; "
    "tr '\\0' ' ' < /proc/$$/cmdline; env";

/// `mark` is a part of the names of the locks, so that they are free.
std::vector<Verb> verbs(const std::string& mark) {
  return {{{"status"}},
          {{"doctor"}},
          {{"members"}},
          {{"members", "plan"}},
          {{"enroll"}, true},
          {{"locks"}},
          {{"inspect", "one"}},
          {{"acquire", "--ttl", "20s", "one" + mark}},
          {{"extend", "--token", "nobody", "--ttl", "20s", "two"}},
          {{"release", "--token", "nobody", "two"}},
          {{"run", "three" + mark, "--", "sh", "-c", look_around}},
          {{"run", "--wait", "20s", "--shared", "four", "--", "sh", "-c", look_around}, true},
          {{"leader", "five" + mark, "--", "sh", "-c", look_around}, true},
          {{"observe", "--once", "six"}},
          {{"bench", "--seconds", "0.01"}}};
}

/// Three nodes that "locker" may use with the password, on ports for plain text and for TLS.
class Secrets : public CommandLine {
 protected:
  Secrets() : CommandLine({.size = 3, .tcp = true, .tls = QUORUMLOCK_WITH_TLS == 1, .user = ""}) {
    cluster.raw_everywhere({"ACL", "SETUSER", "locker", "on", ">" + password, "~*", "&*", "+@all"});
    std::ofstream(directory.path() / "password") << password << "\n";
  }

  std::string write(const json& document) {
    std::string path = directory.path() / ("config-" + std::to_string(++files_) + ".json");
    std::ofstream(path) << document;
    return path;
  }
  static std::string with_password(std::string url, const std::string& user = "locker") {
    return url.insert(url.find("://") + 3, user + ":" + escaped + "@");
  }
  [[nodiscard]] Given given(Way way, const std::vector<std::string>& urls,
                            const std::string& user = "locker",
                            const std::string& patience = "20s") {
    std::string list;
    json nodes = json::array();
    for (const std::string& url : urls) {
      list += (list.empty() ? "" : ",") + with_password(url, user);
      switch (way) {
        case Way::flag:
        case Way::variable: break;
        case Way::url_in_file: nodes.push_back(with_password(url, user)); break;
        case Way::password_file:
          nodes.push_back(
              {{"url", url}, {"user", user}, {"password_file", directory.path() / "password"}});
          break;
        case Way::password_env:
          nodes.push_back({{"url", url}, {"user", user}, {"password_env", "LOCK_WORD"}});
          break;
      }
    }
    if (nodes.empty()) nodes.push_back("redis://replaced.example");
    const std::string file =
        write({{"nodes", nodes}, {"connect_timeout", patience}, {"node_timeout", "10s"}});
    Given given{{"--config", file}, {}};
    if (way == Way::flag) given.words.insert(given.words.end(), {"--nodes", list});
    if (way == Way::variable) given.environment = {"QUORUMLOCK_NODES=" + list};
    if (way == Way::password_env) given.environment = {"LOCK_WORD=" + password};
    return given;
  }
  static Program start(const Given& given, std::vector<std::string> words,
                       std::vector<std::string> more = {}) {
    words.insert(words.begin(), given.words.begin(), given.words.end());
    words.insert(words.begin(), QUORUMLOCK_PROGRAM);
    more.insert(more.end(), given.environment.begin(), given.environment.end());
    return Program(words, more);
  }
  /// Runs every command at once. `trouble`: the words that each must have on standard error, as
  /// there is no quorum; empty: all nodes vote.
  void expect_all_hidden(const Given& given, const std::string& trouble,
                         const std::vector<std::string>& environment = {}) {
    static const std::vector<std::vector<std::string>> formats = {
        {"--verbose"}, {"--verbose", "--json"}, {"--verbose", "--log-format", "json"}};
    const std::vector<Verb> all = verbs("-" + std::to_string(++runs_));
    std::vector<Program> programs;
    for (const Verb& verb : all) {
      std::vector<std::string> words = formats[(programs.size() + runs_) % formats.size()];
      words.insert(words.end(), verb.words.begin(), verb.words.end());
      programs.push_back(start(given, words, environment));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string name = testing::PrintToString(all[i].words);
      if (!trouble.empty()) {
        EXPECT_TRUE(programs[i].says_on_error(trouble)) << name;
        if (all[i].waits) programs[i].signal(SIGTERM);
      }
      const Ended ended = programs[i].finish();
      expect_hidden(ended, name);
      if (!trouble.empty()) continue;
      const std::string& verb = all[i].words[0];
      if (verb == "status" || verb == "acquire") {
        EXPECT_EQ(ended.code, 0) << name << ended.err;
      }
      if (verb == "run" || verb == "leader") {
        EXPECT_THAT(ended.out, HasSubstr(" " + verb + " "));  // the parent's command line
        EXPECT_THAT(ended.out, HasSubstr("QUORUMLOCK_TOKEN="));
      }
    }
  }
  /// The same nodes in plain text.
  [[nodiscard]] std::vector<std::string> plain() const { return cluster.plain_urls(); }

 private:
  int files_ = 0;
  std::size_t runs_ = 0;
};

TEST_F(Secrets, AreHiddenIfAllIsWell) {
  for (const Way way : ways) expect_all_hidden(given(way, plain()), "");
  for (const Way way : {Way::flag, Way::password_env}) {
    expect_all_hidden(given(way, cluster.urls()), "");
  }
}

TEST_F(Secrets, AreHiddenIfTheyAreWrong) {
  cluster.raw_everywhere({"ACL", "SETUSER", "other", "on", ">another", "~*", "&*", "+@all"});
  for (const Way way : ways) {
    expect_all_hidden(given(way, plain(), "other"), "refused to log us in: WRONGPASS");
  }
}

TEST_F(Secrets, AreHiddenIfNobodyAnswers) {
  const std::vector<std::string> nobody = {"redis://127.0.0.1:1", "redis://127.0.0.1:2",
                                           "redis://127.0.0.1:3"};
  for (const Way way : {Way::variable, Way::password_file}) {
    expect_all_hidden(given(way, nobody), "Connection refused");
  }
}

#if QUORUMLOCK_WITH_TLS
TEST_F(Secrets, AreHiddenIfTlsFails) {
  // The certificates are of an authority that the client does not know, or the ports do not speak
  // TLS.
  const std::string others = directory.path() / "ca.pem";
  local::Authority("another authority").write(others);
  expect_all_hidden(given(Way::variable, cluster.urls()), "issued by an unknown authority",
                    {"SSL_CERT_FILE=" + others});
  std::vector<std::string> wrong = plain();
  for (std::string& url : wrong) url.replace(0, url.find("://"), "rediss");
  expect_all_hidden(given(Way::url_in_file, wrong, "locker", "3s"), "in the TLS handshake");
}
#endif

TEST_F(Secrets, AreHiddenIfANodeRepeatsThem) {
  // A server may quote a login that it does not understand. After a login any reply may do so.
  const std::string error =
      "-ERR cannot take `AUTH`, with args beginning with: `locker` `" + password + "`\r\n";
  for (const bool logs_in : {false, true}) {
    std::vector<std::string> urls;
    std::vector<std::unique_ptr<HostileServer>> servers;
    for (int node = 0; node < 3; ++node) {
      servers.push_back(std::make_unique<HostileServer>(
          Hostility{.name = "Repeats", .at_once = logs_in ? "+OK\r\n" : "", .to_each = error}));
      urls.push_back(servers.back()->url());
    }
    for (const Way way : {Way::password_file, Way::password_env}) {
      // A node that has logged somebody in is named with what it does not tell.
      expect_all_hidden(given(way, urls), logs_in ? urls.back() : "`***`");
    }
  }
}

TEST_F(Secrets, AreHiddenInBadLists) {
  const std::string here = "@127.0.0.1:7101";
  const std::string login = "locker:" + escaped;
  for (const std::string& list : {
           "redis://locker:" + password + here,
           "redis://" + password + here,
           "locker:" + password + here,
           login + here,
           escaped + here,
           "http://" + login + here,
           "redis:" + login + here,
           "redis:/" + login + here,
           "redis://" + login,
           "redis://" + login + "@",
           "redis://" + login + "@127.0.0.1:99999",
           "redis://" + login + "@127.0.0.1:6379/db",
           "redis://" + login + "%zz" + here,
           "redis://" + login + here + "?password=" + escaped,
           "redis://127.0.0.1:6379?password=" + escaped,
           "redis://127.0.0.1:6379/0?password=" + escaped,
           "redis://" + login + here + ",redis://" + login + here,
           "redis://" + login + here + ", redis://" + login + "@127.0.0.1:7102",
           "redis://" + login + here + "," + login + "@127.0.0.1:7102",
           "redis://" + login + here + ",",
           "redis://" + login + here + " redis://" + login + "@127.0.0.1:7102",
           "unix://" + login + "@/run/redis.sock",
           "unix:///run/redis.sock?password=" + escaped,
       }) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"status"}, {"--json", "status"}}) {
      for (const Given& given : {Given{{"--nodes", list}, {}}, Given{{"--nodes=" + list}, {}},
                                 Given{{}, {"QUORUMLOCK_NODES=" + list}},
                                 Given{{"--config", write({{"nodes", {list}}})}, {}},
                                 Given{{"--config", list}, {}}, Given{{list}, {}}}) {
        const Ended ended = start(given, words).finish();
        expect_hidden(ended, list);
        EXPECT_EQ(ended.code, 64) << list << ended.out;
      }
    }
  }
}

TEST_F(Secrets, AreHiddenInBadFiles) {
  const std::string url = with_password("redis://127.0.0.1:7101");
  const std::string node = R"("redis://127.0.0.1:7101")";
  const std::string quoted = '"' + url + '"';
  const std::string word = '"' + password + '"';
  const std::string of_node = R"({"nodes":[{"url":"redis://127.0.0.1:7101",)";
  for (const std::string& text : {
           R"({"nodes":[)" + quoted + "]} more",
           R"({"nodes":[)" + quoted,
           R"({"nodes":[")" + url,
           R"({"nodes":[)" + quoted + R"(], ")" + password,
           R"({"nodes":)" + quoted + "}",
           R"({"nodes":{)" + quoted + ":1}}",
           R"({"nodes":[[)" + quoted + "]]}",
           R"({"nodes":[)" + quoted + "," + quoted + "]}",
           R"({"nodes":[)" + node + R"(],"password":)" + word + "}",
           R"({"nodes":[)" + node + "]," + quoted + ":1}",
           R"({"nodes":[)" + node + R"(],"ttl":)" + quoted + "}",
           R"({"nodes":[)" + node + R"(],"ttl":[)" + word + "]}",
           R"({"nodes":[)" + node + R"(],"nodes":)" + quoted + "}",
           R"({"groups":{)" + quoted + ":[" + node + "]}}",
           R"({"groups":{"a":[)" + quoted + R"(],"b":[)" + quoted + "]}}",
           of_node + R"("password":)" + word + "}]}",
           of_node + R"("password_env":[)" + word + "]}]}",
           of_node + R"("password_file":{)" + word + ":1}}]}",
           of_node + R"("name":)" + quoted + "}]}",
           of_node + quoted + ":1}]}",
           R"({"nodes":[{"url":)" + quoted + R"(,"password_file":"/nowhere"}]})",
           R"({"nodes":[{"url":)" + quoted + R"(,"password_env":"LOCK_WORD"}]})",
           R"({"nodes":[{"url":)" + quoted + R"(,"user":"locker"}]})",
       }) {
    const std::string file = directory.path() / "bad.json";
    std::ofstream(file) << text;
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"status"}, {"--json", "status"}}) {
      const Ended ended = start({{"--config", file}, {"LOCK_WORD=" + password}}, words).finish();
      expect_hidden(ended, text);
      EXPECT_EQ(ended.code, 64) << text << ended.out;
    }
  }
}

/// Checks what `serve` answers to clients with its token and to clients without it.
void expect_hidden_in_pages(const Server& server, const std::string& token) {
  for (const char* path : {"/", "/page.js", "/metrics", "/healthz", "/readyz", "/api/status",
                           "/api/doctor", "/api/locks", "/api/locks/one", "/api/nothing"}) {
    for (const std::string& header :
         {"Authorization: Bearer " + token + "\r\n", "Authorization: Bearer not " + token + "\r\n",
          "Authorization: " + token + "\r\n"}) {
      const HttpAnswer answer = server.get(path, header);
      std::string all = answer.body;
      for (const auto& [name, value] : answer.headers) all += name + ": " + value + "\n";
      expect_hidden(all, path);
    }
  }
}

TEST_F(Secrets, AreHiddenByServe) {
  // The nodes' password and its own token.
  const std::string token = "Marked1-0123456789abcdef-Marked2";
  const std::string file = directory.path() / "token";
  std::ofstream(file) << token << "\n";
  cluster.raw_everywhere({"ACL", "SETUSER", "other", "on", ">another", "~*", "&*", "+@all"});
  for (const char* user : {"locker", "other"}) {
    for (const Way way : {Way::variable, Way::password_file}) {
      Server server(start(given(way, plain(), user), {"--json", "--verbose", "serve", "--listen",
                                                      "127.0.0.1:0", "--token-file", file}));
      HttpConnection events(server.port());
      events.ask("GET", "/api/events", "Authorization: Bearer " + token + "\r\n");
      expect_hidden(events.event("status").dump(), "/api/events");
      expect_hidden_in_pages(server, token);
      server.program().signal(SIGTERM);
      expect_hidden(server.program().finish(), "serve");
    }
  }
}

}  // namespace
}  // namespace quorumlock::test
