#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "cli/fixture.hpp"
#include "local/certificates.hpp"

// Where the program keeps passwords, and where others could see them.
namespace quorumlock::test {
namespace {

class CredentialsOfTheProgram : public CommandLine {
 protected:
  CredentialsOfTheProgram() : CommandLine({.size = 3, .tcp = true, .user = ""}) {
    cluster.raw_everywhere({"ACL", "SETUSER", "locker", "on", ">s3cret", "~*", "&*", "+@all"});
    json nodes = json::array();
    for (const std::string& url : cluster.urls()) {
      nodes.push_back({{"url", url}, {"user", "locker"}, {"password_env", "LOCK_PASSWORD"}});
    }
    std::ofstream(config) << json{{"nodes", nodes}};
  }

  const std::string config = directory.path() / "config.json";
};

TEST_F(CredentialsOfTheProgram, AVariableIsNotGivenToTheCommand) {
  // `run` takes the password out of its child's environment, and nothing else.
  const Ended ended =
      Program({QUORUMLOCK_PROGRAM, "run", "thing", "--", "env"},
              {"QUORUMLOCK_CONFIG=" + config, "LOCK_PASSWORD=s3cret", "LOCK_PASSWORD_HINT=none"})
          .finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("LOCK_PASSWORD_HINT=none"));
  EXPECT_THAT(ended.out, Not(HasSubstr("s3cret")));
  for (int node = 0; node < 3; ++node) EXPECT_GE(cluster.calls(node, "auth"), 1);
}

TEST_F(CredentialsOfTheProgram, AnArgumentIsOverwritten) {
  // The command reads its parent's command line in /proc: the password of the URLs is gone from it.
  std::string urls;
  for (std::string url : cluster.urls()) {
    urls += (urls.empty() ? "" : ",") + url.insert(url.find("//") + 2, "locker:s3cret@");
  }
  const Ended ended = Program({QUORUMLOCK_PROGRAM, "--nodes", urls, "run", "thing", "--", "sh",
                               "-c", "tr '\\0' ' ' < /proc/$PPID/cmdline"})
                          .finish();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("://*************@127.0.0.1:"));
  EXPECT_THAT(ended.out, HasSubstr("run thing"));
  EXPECT_THAT(ended.out, Not(HasSubstr("s3cret")));
}

TEST_F(CredentialsOfTheProgram, AVariableIsOverwritten) {
  // The command may read its parent's environment in /proc, and so may every process of this user.
  std::string urls;
  for (std::string url : cluster.urls()) {
    urls += (urls.empty() ? "" : ",") + url.insert(url.find("//") + 2, "locker:s3cret@");
  }
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"QUORUMLOCK_CONFIG=" + config, "LOCK_PASSWORD=s3cret"},
        {"QUORUMLOCK_NODES=" + urls}}) {
    std::vector<std::string> environment = given;
    environment.emplace_back("LOCK_PASSWORD_HINT=none");
    const Ended ended = Program({QUORUMLOCK_PROGRAM, "run", "thing", "--", "sh", "-c",
                                 "tr '\\0' '\\n' < /proc/$PPID/environ"},
                                environment)
                            .finish();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("LOCK_PASSWORD_HINT=none"));
    EXPECT_THAT(ended.out, HasSubstr("=***"));
    EXPECT_THAT(ended.out, Not(HasSubstr("s3cret")));
  }
}

TEST_F(CredentialsOfTheProgram, AMissingVariableIsNamed) {
  // A missing variable is an error of the configuration: nothing is sent.
  const Ended ended =
      Program({QUORUMLOCK_PROGRAM, "status"}, {"QUORUMLOCK_CONFIG=" + config}).finish();
  EXPECT_EQ(ended.code, 64);
  EXPECT_THAT(ended.err,
              HasSubstr("password_env names the environment variable \"LOCK_PASSWORD\""));
}

TEST_F(CredentialsOfTheProgram, AFileThatIsNeverReadDelaysNoEnd) {
  // Each file blocks its reader, as on a file system that does not answer. A signal ends each
  // command that waits for it.
  using namespace std::chrono_literals;
  const std::string certificate = directory.path() / "our.pem";
  const std::string key = directory.path() / "our.key";
  local::Authority("ours").issue({}, certificate, key);
  const std::string pipe = directory.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const char* const file : {"ca_file", "cert_file", "key_file"}) {
    json tls = {{"cert_file", certificate}, {"key_file", key}};
    tls[file] = pipe;
    std::ofstream(config) << json{{"nodes", {"rediss://127.0.0.1:1"}}, {"tls", tls}};
    for (const char* const command : {"acquire", "run", "leader", "status"}) {
      std::vector<std::string> words = {QUORUMLOCK_PROGRAM, command};
      if (command != std::string_view("status")) words.emplace_back("thing");
      if (words.size() > 2 && words[1] != "acquire") words.insert(words.end(), {"--", "true"});
      Program program(words, {"QUORUMLOCK_CONFIG=" + config});
      const local::Descriptor writes_nothing(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC));
      program.signal(SIGTERM);
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(program.finish().code, 128 + SIGTERM) << command << ", " << file;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
    }
  }
}

}  // namespace
}  // namespace quorumlock::test
