#include "tls/contexts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "support/tls_server.hpp"

namespace quorumlock::test {
namespace {

/// Whether a connection made now by these contexts trusts this server.
bool trusts(tls::Contexts& contexts, const TlsOptions& options, TlsServer& server) {
  tls::Resumption last;
  auto channel = contexts.connect(options, "localhost", std::time(nullptr), last);
  if (!channel) return false;
  TlsServer::Connection connection(server);
  for (int turns = 0; turns < 10; ++turns) {
    connection.feed((*channel)->output());
    (*channel)->wrote((*channel)->output().size());
    const std::string bytes = connection.output();
    (*channel)->on_bytes(bytes);
    char plain[100];
    while ((*channel)->read(plain) > 0) {
    }
  }
  return (*channel)->state() == tls::Channel::State::open;
}

TEST(Contexts, ReadFilesAgainOnceTheyHaveChanged) {
  Certificates certificates;
  certificates.issue("server");
  const local::Authority other("another authority");
  other.issue({}, certificates.path("other.pem"), certificates.path("other.key"));
  TlsServer server(certificates.path("server.pem"), certificates.path("server.key"));
  TlsServer others(certificates.path("other.pem"), certificates.path("other.key"));

  tls::Contexts contexts;
  const TlsOptions options{.ca_file = certificates.ca()};
  EXPECT_TRUE(contexts.take(options, tls::Files::read(options)).has_value());
  EXPECT_TRUE(trusts(contexts, options, server));
  EXPECT_FALSE(trusts(contexts, options, others));
  other.write(certificates.ca());
  EXPECT_TRUE(contexts.take(options, tls::Files::read(options)).has_value());
  EXPECT_FALSE(trusts(contexts, options, server));
  EXPECT_TRUE(trusts(contexts, options, others));
}

TEST(Contexts, ADirectoryIsReadBeforeItIsNeeded) {
  // No file is left for the handshake, which is on the loop: the file system may not answer then.
  Certificates certificates;
  certificates.issue("server");
  TlsServer server(certificates.path("server.pem"), certificates.path("server.key"));
  const std::string dir = certificates.path("authorities");
  std::filesystem::create_directory(dir);
  std::filesystem::copy(certificates.ca(), dir + "/0a1b2c3d.0");
  tls::Contexts contexts;
  const TlsOptions options{.ca_dir = dir};
  EXPECT_TRUE(contexts.take(options, tls::Files::read(options)).has_value());
  std::filesystem::remove_all(dir);
  EXPECT_TRUE(trusts(contexts, options, server));
}

TEST(Contexts, AFileThatIsGoneIsAnErrorUntilItIsBack) {
  Certificates certificates;
  tls::Contexts contexts;
  const TlsOptions options{.ca_file = certificates.ca()};
  EXPECT_TRUE(contexts.take(options, tls::Files::read(options)).has_value());
  std::filesystem::remove(certificates.ca());
  ASSERT_FALSE(contexts.take(options, tls::Files::read(options)).has_value());
  EXPECT_EQ(contexts.take(options, tls::Files::read(options)).error().code(),
            Errc::invalid_argument);
  certificates.authority.write(certificates.ca());
  EXPECT_TRUE(contexts.take(options, tls::Files::read(options)).has_value());
}

TEST(Contexts, KeepABoundedNumberOfOptions) {
  Certificates certificates;
  tls::Contexts contexts;
  for (std::size_t i = 0; i < 200; ++i) {
    // Each is another path to the same file.
    const TlsOptions options{.ca_file = std::string(1 + i, '/') + certificates.ca()};
    EXPECT_TRUE(contexts.take(options, tls::Files::read(options)));
  }
}

TEST(Contexts, FilesThatMadeRoomAreNotReadOnTheLoop) {
  Certificates certificates;
  tls::Contexts contexts;
  tls::Resumption last;
  const auto take = [&](std::size_t slashes) {
    const TlsOptions options{.ca_file = std::string(slashes, '/') + certificates.ca()};
    EXPECT_TRUE(contexts.take(options, tls::Files::read(options)));
    return options;
  };
  const TlsOptions first = take(1);
  EXPECT_TRUE(contexts.connect(first, "localhost", std::time(nullptr), last));
  for (std::size_t i = 0; i < 200; ++i) take(2 + i);
  const auto refused = contexts.connect(first, "localhost", std::time(nullptr), last);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().what(), testing::HasSubstr("not in memory"));
}

}  // namespace
}  // namespace quorumlock::test
