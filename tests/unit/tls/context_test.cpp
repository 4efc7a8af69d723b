#include "tls/context.hpp"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <filesystem>
#include <fstream>

#include "support/tls_server.hpp"

namespace quorumlock::test {
namespace {

class ContextTest : public ::testing::Test {
 protected:
  ContextTest() { certificates_.issue("client"); }
  static std::string error_of(const TlsOptions& options) {
    const auto context = tls::Context::load(options, *tls::Files::read(options));
    return context ? "none" : context.error().what();
  }
  TlsOptions client(const std::string& cert, const std::string& key) const {
    return {.ca_file = certificates_.ca(),
            .cert_file = certificates_.path(cert),
            .key_file = certificates_.path(key)};
  }
  void write(const std::string& file, const std::string& text) const {
    std::ofstream(certificates_.path(file)) << text;
  }

  Certificates certificates_;
};

TEST_F(ContextTest, LoadsTheSystemsAuthoritiesAndItsOwnFiles) {
  EXPECT_EQ(error_of({}), "none");
  EXPECT_EQ(error_of(client("client.pem", "client.key")), "none");
}

TEST_F(ContextTest, NamesAFileThatIsNotThere) {
  EXPECT_EQ(error_of({.ca_file = "/nowhere/ca.pem"}),
            "tls.ca_file is \"/nowhere/ca.pem\": it cannot be read: No such file or directory");
  EXPECT_EQ(error_of({.ca_dir = "/nowhere"}),
            "tls.ca_dir is \"/nowhere\": it cannot be read: No such file or directory");
  const std::string key = certificates_.path("none.key");
  EXPECT_EQ(error_of(client("client.pem", "none.key")),
            "tls.key_file is \"" + key + "\": it cannot be read: No such file or directory");
}

TEST_F(ContextTest, NamesAFileThatIsNotACertificate) {
  write("text", "not a certificate");
  EXPECT_EQ(
      error_of({.ca_file = certificates_.path("text")}),
      "tls.ca_file is \"" + certificates_.path("text") + "\": it has no certificate in PEM form");
  EXPECT_EQ(
      error_of(client("text", "client.key")),
      "tls.cert_file is \"" + certificates_.path("text") + "\": it has no certificate in PEM form");
}

TEST_F(ContextTest, NamesAKeyThatIsAnotherCertificatesOrEncrypted) {
  certificates_.issue("other");
  EXPECT_EQ(error_of(client("client.pem", "other.key")),
            "tls.key_file is \"" + certificates_.path("other.key") +
                "\": it is not the key of the certificate in tls.cert_file");

  EVP_PKEY* const key = EVP_EC_gen("P-256");
  std::FILE* const file = std::fopen(certificates_.path("secret.key").c_str(), "w");
  PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), nullptr, 0, nullptr,
                       const_cast<char*>("passphrase"));
  std::fclose(file);
  EVP_PKEY_free(key);
  EXPECT_EQ(error_of(client("client.pem", "secret.key")),
            "tls.key_file is \"" + certificates_.path("secret.key") +
                "\": it has no private key in PEM form that can be read without a passphrase");
}

TEST_F(ContextTest, NamesADirectoryInWhichOpensslWouldFindNothing) {
  const std::string dir = certificates_.path("authorities");
  std::filesystem::create_directory(dir);
  std::filesystem::copy(certificates_.ca(), dir + "/ca.pem");
  EXPECT_EQ(error_of({.ca_dir = dir}),
            "tls.ca_dir is \"" + dir +
                "\": it has no certificate under its hash: run openssl rehash on it, or name one "
                "file by tls.ca_file");
  std::filesystem::copy(certificates_.ca(), dir + "/0a1b2c3d.0");
  EXPECT_EQ(error_of({.ca_dir = dir}), "none");
}

}  // namespace
}  // namespace quorumlock::test
