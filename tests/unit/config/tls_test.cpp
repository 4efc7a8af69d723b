#include "config/tls.hpp"

#include <gtest/gtest.h>
#include <quorumlock/options.hpp>

#include "config/cluster.hpp"

namespace quorumlock::detail {
namespace {

std::string error_of(const std::string& json) {
  const Result<Options> options = Options::from_json(json);
  return options ? "none" : options.error().what();
}

/// The options of one rediss:// node with this `tls` object.
std::string with_tls(const std::string& tls) {
  return R"({"nodes": ["rediss://h"], "tls": )" + tls + "}";
}

TEST(TlsOptionsTest, AreReadFromJson) {
  const Result<Options> options = Options::from_json(R"({
    "nodes": ["rediss://a", {"url": "rediss://b", "tls": {"server_name": "b.example"}}],
    "tls": {"ca_file": "/ca.pem", "ca_dir": "/cas", "cert_file": "/c.pem", "key_file": "/c.key",
            "min_version": "1.3", "unsafe_skip_verify": true}})");
  ASSERT_TRUE(options.has_value()) << options.error().what();
  EXPECT_EQ(options->tls, (TlsOptions{.ca_file = "/ca.pem",
                                      .ca_dir = "/cas",
                                      .cert_file = "/c.pem",
                                      .key_file = "/c.key",
                                      .min_version = TlsVersion::tls_1_3,
                                      .unsafe_skip_verify = true}));
  EXPECT_EQ(options->nodes[1].tls, TlsOptions{.server_name = "b.example"});
}

TEST(TlsOptionsTest, WrongOptionsAreRefusedByName) {
  EXPECT_EQ(error_of(with_tls(R"({"cafile": "/ca.pem"})")),
            "the key \"tls.cafile\" is unknown: did you mean \"tls.ca_file\"?");
  EXPECT_EQ(error_of(with_tls(R"({"min_version": "1.1"})")),
            "tls.min_version is \"1.1\": it must be \"1.2\" or \"1.3\"");
  EXPECT_EQ(error_of(with_tls(R"("/ca.pem")")),
            "tls is \"/ca.pem\": it must be an object, such as {\"ca_file\": "
            "\"/etc/quorumlock/ca.pem\"}");
  EXPECT_EQ(error_of(with_tls(R"({"unsafe_skip_verify": "yes"})")),
            "tls.unsafe_skip_verify is \"yes\": it must be true or false");
  EXPECT_EQ(error_of(with_tls(R"({"ca_file": ""})")),
            "tls.ca_file is \"\": it must be a path; leave it out to have none");
  EXPECT_EQ(error_of(with_tls(R"({"server_name": "a b"})")),
            "tls.server_name is \"a b\": it must be a host name, such as lock1.example, or an IP "
            "address");
  const auto server = [](const std::string& name) {
    return error_of(with_tls("{\"server_name\": \"" + name + "\"}"));
  };
  for (const std::string& name : {std::string("azAZ09.-_:"), std::string(253, 'h')}) {
    EXPECT_EQ(server(name), "none");
  }
  for (const std::string& name :
       {std::string("`"), std::string("{"), std::string("@"), std::string("["), std::string("/"),
        std::string(";"), std::string(254, 'h'), std::string()}) {
    EXPECT_NE(server(name).find("it must be a host name"), std::string::npos) << name;
  }
  EXPECT_EQ(error_of(with_tls(R"({"cert_file": "/c.pem"})")),
            "tls.cert_file is given without tls.key_file: give both, or neither; they may be the "
            "same file");
  EXPECT_EQ(error_of(R"({"nodes": [{"url": "rediss://a", "tls": {"key_file": "/k"}}]})"),
            "nodes[0].tls.key_file is given without nodes[0].tls.cert_file: give both, or neither; "
            "they may be the same file");
}

TEST(TlsOptionsTest, AreRefusedIfNoNodeUsesTls) {
  EXPECT_EQ(error_of(R"({"nodes": ["redis://h"], "tls": {"ca_file": "/ca.pem"}})"),
            "tls is given, and no node's URL is rediss://: write rediss:// for TLS");
  EXPECT_EQ(error_of(R"({"nodes": ["rediss://g", {"url": "redis://h:1",
                         "tls": {"ca_file": "/ca.pem"}}]})"),
            "nodes[1] has tls, and its URL is redis://h:1: write rediss:// for TLS");
  EXPECT_EQ(error_of(R"({"nodes": [{"url": "rediss+sentinel://h/s", "name": "s"}],
                         "tls": {"ca_file": "/ca.pem"}})"),
            "none");
}

TEST(TlsOptionsTest, OnePortIsOneNodeWhateverItSpeaks) {
  const std::string why = error_of(R"({"nodes": ["rediss://h:1", "redis://h:1"]})");
  EXPECT_TRUE(why.find("name each node once") != why.npos) << why;
}

TEST(TlsOptionsTest, ANodesOwnHavePrecedence) {
  const TlsOptions all{.ca_file = "/ca",
                       .cert_file = "/c",
                       .key_file = "/k",
                       .server_name = "all",
                       .min_version = TlsVersion::tls_1_3};
  EXPECT_EQ(merged({}, all), all);
  EXPECT_EQ(merged({.ca_dir = "/dir", .server_name = "one"}, all),
            (TlsOptions{.ca_dir = "/dir",
                        .cert_file = "/c",
                        .key_file = "/k",
                        .server_name = "one",
                        .min_version = TlsVersion::tls_1_3}));
  EXPECT_EQ(merged({.cert_file = "/d", .key_file = "/d"}, all).key_file, "/d");
}

TEST(TlsOptionsTest, ReachTheEndpointsOfNodesThatSpeakTls) {
  Options options;
  options.nodes = {NodeOptions("rediss://a"), NodeOptions("redis://b")};
  options.tls.ca_file = "/ca";
  const Result<std::vector<Cluster>> clusters = Cluster::from(options);
  ASSERT_TRUE(clusters.has_value());
  EXPECT_EQ((*clusters)[0].endpoints[0].tls, TlsOptions{.ca_file = "/ca"});
  EXPECT_EQ((*clusters)[0].endpoints[1].tls, std::nullopt);
  EXPECT_EQ((*clusters)[0].names[0], "rediss://a:6379");
}

}  // namespace
}  // namespace quorumlock::detail
