#include "wire/endpoint.hpp"

#include <gtest/gtest.h>

#include <string>

#include "unit/support/refusal.hpp"

namespace quorumlock::redis {
namespace {

Endpoint parsed(std::string_view url) {
  const Result<Endpoint> result = Endpoint::parse(url);
  EXPECT_TRUE(result) << result.error().what();
  return result ? *result : Endpoint();
}

/// The fields of a parsed URL that are not empty.
std::string fields_of(std::string_view url) {
  const Endpoint endpoint = parsed(url);
  std::string text;
  const std::string password(std::string_view(endpoint.login.password));
  if (!endpoint.login.user.empty()) text += "user=" + endpoint.login.user + " ";
  if (!password.empty()) text += "password=" + password + " ";
  if (!endpoint.host.empty()) {
    text += "host=" + endpoint.host + " port=" + std::to_string(endpoint.port) + " ";
  }
  if (!endpoint.path.empty()) text += "path=" + endpoint.path + " ";
  return text + "db=" + std::to_string(endpoint.db);
}

/// Expects an error that begins with the URL as it may be shown, and contains `why`.
void expect_refused(std::string_view url, const std::string& shown, std::string_view why) {
  const std::string error = error_of(Endpoint::parse(url));
  EXPECT_TRUE(starts(error, "\"" + shown + "\" ")) << url;
  EXPECT_TRUE(contains(error, why)) << url;
}

TEST(Endpoint, ReadsHostPortAndDatabase) {
  // The parts that a URL may leave out have Redis' own defaults.
  EXPECT_EQ(fields_of("redis://127.0.0.1:7101"), "host=127.0.0.1 port=7101 db=0");
  EXPECT_EQ(fields_of("redis://lock2.example"), "host=lock2.example port=6379 db=0");
  EXPECT_EQ(fields_of("redis://h/"), "host=h port=6379 db=0");
  EXPECT_EQ(fields_of("redis://h:65535/2147483647"), "host=h port=65535 db=2147483647");
  EXPECT_EQ(fields_of("redis://[::1]:7101/3"), "host=::1 port=7101 db=3");
}

TEST(Endpoint, ReadsUserAndPassword) {
  // User and password may each be percent-encoded, and each may be missing.
  EXPECT_EQ(fields_of("redis://user:secret@lock2.example:6380/3"),
            "user=user password=secret host=lock2.example port=6380 db=3");
  EXPECT_EQ(fields_of("redis://:secret@h"), "password=secret host=h port=6379 db=0");
  EXPECT_EQ(fields_of("redis://user@h"), "user=user host=h port=6379 db=0");
  EXPECT_EQ(fields_of("redis://u%40x:a%2fb%3A%25%c3%a9@h"),
            "user=u@x password=a/b:%\u00e9 host=h port=6379 db=0");
  EXPECT_EQ(fields_of("redis://u:a:b@h"), "user=u password=a:b host=h port=6379 db=0");
}

TEST(Endpoint, ReadsAUnixSocket) {
  // The path is taken literally; a database is given as a query.
  EXPECT_EQ(fields_of("unix:///run/redis/lock3.sock"), "path=/run/redis/lock3.sock db=0");
  EXPECT_EQ(fields_of("unix:///run/a@b%20c.sock?db=4"), "path=/run/a@b%20c.sock db=4");
  const std::string longest = "/" + std::string(106, 'x');
  EXPECT_EQ(fields_of("unix://" + longest), "path=" + longest + " db=0");
}

TEST(Endpoint, HasANameWithoutUserAndPassword) {
  // Logs and errors call a node by this name.
  EXPECT_EQ(parsed("redis://user:secret@lock2.example:6380/3").name(),
            "redis://lock2.example:6380/3");
  EXPECT_EQ(parsed("redis://h").name(), "redis://h:6379");
  EXPECT_EQ(parsed("redis://[::1]:7101").name(), "redis://[::1]:7101");
  EXPECT_EQ(parsed("redis://[fe80::1%eth0.7]:7101").name(), "redis://[fe80::1%eth0.7]:7101");
  EXPECT_EQ(parsed("unix:///run/a.sock").name(), "unix:///run/a.sock");
  EXPECT_EQ(parsed("unix:///run/a.sock?db=2").name(), "unix:///run/a.sock?db=2");
}

TEST(Endpoint, HasOneNameForAllItsSpellings) {
  // A node that is listed twice is detected even if its two spellings differ.
  EXPECT_EQ(parsed("redis://LocalHost:06379/0").name(), parsed("redis://localhost").name());
  EXPECT_EQ(parsed("redis://[0:0:0:0:0:0:0:1]").name(), parsed("redis://[::1]/").name());
  EXPECT_EQ(parsed("redis://[2001:DB8::A]").name(), parsed("redis://[2001:db8::a]").name());
  EXPECT_EQ(parsed("redis://[FE80::A%25eth0]").name(), parsed("redis://[fe80::a%eth0]").name());
  EXPECT_EQ(parsed("unix:////run//a.sock?db=0").name(), parsed("unix:///run/a.sock").name());
  EXPECT_EQ(parsed("redis://a:b@h").name(), parsed("redis://c:d@h").name());
}

#if QUORUMLOCK_WITH_TLS
TEST(Endpoint, ReadsTls) {
  const Endpoint endpoint = parsed("rediss://user:secret@host:6380/2");
  EXPECT_EQ(endpoint, (Endpoint{.host = "host",
                                .port = 6380,
                                .login = {"user", "secret"},
                                .db = 2,
                                .tls = TlsOptions()}));
  EXPECT_EQ(endpoint.name(), "rediss://host:6380/2");
  EXPECT_EQ(endpoint.member_name(), "host:6380/2");
  EXPECT_FALSE(parsed("redis://host").tls.has_value());
  expect_refused("rediss://u:hunter2@h:0", "rediss://***@h:0", "bad port");
}

TEST(Endpoint, ReadsSentinelsWithTls) {
  const Endpoint endpoint = parsed("rediss+sentinel://u:hunter2@b,a:1/s/3");
  EXPECT_EQ(endpoint.tls, TlsOptions());
  EXPECT_EQ(endpoint.sentinels->addresses, (std::vector<HostPort>{{"a", 1}, {"b", 26379}}));
  EXPECT_EQ(endpoint.name(), "rediss+sentinel://a:1,b:26379/s/3");
  EXPECT_EQ(endpoint.member_name("locks-1"), "locks-1/3");
  EXPECT_FALSE(parsed("redis+sentinel://a/s").tls.has_value());
  expect_refused("rediss+sentinel://u:hunter2@h", "rediss+sentinel://***@h***",
                 "does not say what");
}
#else
TEST(Endpoint, RefusesTlsByName) {
  // A user of TLS must not believe that the connection is encrypted.
  expect_refused("rediss://u:hunter2@h:6380", "rediss://***@h:6380", "built without TLS");
  expect_refused("rediss+sentinel://u:hunter2@h:1/s", "rediss+sentinel://***@h:1/s",
                 "built without TLS");
}
#endif

TEST(Endpoint, ReadsSentinels) {
  // The order of the Sentinels makes no difference.
  const Endpoint endpoint = parsed("redis+sentinel://user:secret@B.example,[::1]:7000/locks-1/3");
  EXPECT_EQ(endpoint,
            (Endpoint{.login = {"user", "secret"},
                      .db = 3,
                      .sentinels = Sentinels{.addresses = {{"::1", 7000}, {"b.example", 26379}},
                                             .service = "locks-1"}}));
  EXPECT_EQ(endpoint.name(), "redis+sentinel://[::1]:7000,b.example:26379/locks-1/3");
  EXPECT_EQ(endpoint.member_name("a"), "a/3");
  EXPECT_EQ(parsed(endpoint.name()).name(), endpoint.name());
  EXPECT_EQ(parsed("redis+sentinel://b,a/s").name(), parsed("redis+sentinel://a,b:26379/s").name());
}

TEST(Endpoint, AMemberIsWhatSelectsTheData) {
  // Two databases of one server are two memories, so they have two names, which give the database
  // back. The path of a socket may end like a name with a database.
  const auto name = [](const std::string& url, const std::string& given = "") {
    return parsed(url).member_name(given);
  };
  EXPECT_EQ(name("redis://h/3"), "h:6379/3");
  EXPECT_EQ(name("redis://h"), "h:6379");
  EXPECT_EQ(name("unix:///run/redis.sock?db=3"), "/run/redis.sock?db=3");
  EXPECT_EQ(name("unix:///run/redis/3"), "/run/redis/3");
  EXPECT_EQ(name("redis://h/3", "a"), "a/3");
  EXPECT_EQ(name("redis://h/3", "a/3"), "a/3");
  EXPECT_EQ(name("redis://h", "a"), "a");
  EXPECT_EQ(name("redis://h/3", "a/03"), "a/03/3");
  EXPECT_EQ(database_of("h:6379/3"), 3);
  EXPECT_EQ(database_of("/run/redis.sock?db=3"), 3);
  for (const char* const zero : {"h:6379", "/run/redis/3", "a/b", "a/03", "a/", "", "/", "3"}) {
    EXPECT_EQ(database_of(zero), 0) << zero;
  }
}

TEST(Endpoint, AMembersNameHasNoZone) {
  // Each host calls its own interface as it likes, and the clients of a list name its nodes alike.
  for (const char* const url : {"redis://[fe80::1%eth0]:7101/3", "redis://[FE80::1%25ens3]:7101/3",
                                "redis://[fe80::1%2]:7101/3"}) {
    EXPECT_EQ(parsed(url).member_name(), "[fe80::1]:7101/3") << url;
    EXPECT_NE(parsed(url).name().find('%'), std::string::npos) << url;
    EXPECT_NE(parsed(url).host.find('%'), std::string::npos) << url;
  }
  EXPECT_EQ(parsed("redis://[fe80::1%eth0]").member_name("a"), "a");
}

TEST(Endpoint, RefusesBadUrlsOfSentinels) {
  const auto refused = [](const std::string& rest, std::string_view why) {
    expect_refused("redis+sentinel://" + rest, "redis+sentinel://" + rest, why);
  };
  refused("h:26379/", "does not say what the Sentinels call the service");
  expect_refused("redis+sentinel://a:1,b:2/s/x", "redis+sentinel://a***", "is no database");
  refused("a:1,a:1/s", "names a Sentinel twice");
  expect_refused("redis+sentinel://h", "redis+sentinel://h***", "does not say what");
  expect_refused("redis+sentinel://a,,b/s", "redis+sentinel://a***", "names no host");
  expect_refused("redis+sentinel://a,b:x/s", "redis+sentinel://a***", "bad port");
  expect_refused("redis+sentinel://u:1,hunter2", "redis+sentinel://u***", "does not say what");
  expect_refused("redis+sentinel://u:hunter2@h/s?db=1", "redis+sentinel://***@h***",
                 "is no database");
  expect_refused("unix+sentinel://h/s", "unix***", "is not a node's URL");
  std::string many = "redis+sentinel://h0";
  for (int i = 1; i < 17; ++i) many += ",h" + std::to_string(i);
  EXPECT_TRUE(contains(error_of(Endpoint::parse(many + "/s")), "names 17 Sentinels"));
}

TEST(Endpoint, RefusesTextThatIsNotAUrlOfANode) {
  // The URL has another scheme or none, and the error shows the valid forms.
  expect_refused("", "",
                 "write redis://[user[:password]@]host[:port][/db], rediss:// for TLS, "
                 "unix:///path[?db=N], or redis+sentinel://host:port/service");
  expect_refused("127.0.0.1:7101", "127.0.0.1:7101", "is not a node's URL");
  expect_refused("http://h:80/x", "http://h***", "is not a node's URL");
  expect_refused("REDIS://h", "REDIS://h", "is not a node's URL");
  expect_refused("redis:/h", "redis***", "is not a node's URL");
  expect_refused(" redis://h", "***", "is not a node's URL");
  expect_refused("redis://h\n", "redis://h***", "control character");
  expect_refused(std::string_view("unix:///a\0b", 11), "unix://***", "control character");
}

TEST(Endpoint, RefusesABadPort) {
  // The port is zero, too large, not a number, or empty.
  expect_refused("redis://h:0", "redis://h:0", "a number from 1 to 65535");
  expect_refused("redis://h:65536", "redis://h:65536", "a number from 1 to 65535");
  for (const char* port : {"", "x", "-1", "+1", "6379x", "99999999999", "6379?db=1"}) {
    expect_refused("redis://h:" + std::string(port), "redis://h***", "");
  }
  expect_refused("redis://h:x/1", "redis://h***", "bad port");
}

TEST(Endpoint, RefusesABadDatabase) {
  // The place of the database depends on the kind of URL, and the error says so.
  expect_refused("redis://h:1/x", "redis://h***", "bad database");
  expect_refused("redis://h:1/-1", "redis://h***", "bad database");
  expect_refused("redis://h:1/3/4", "redis://h***", "bad database");
  expect_refused("redis://h:1/3?x=1", "redis://h***", "bad database");
  expect_refused("redis://h/2147483648", "redis://h/2147483648", "from 0 to 2147483647");
  expect_refused("unix:///a?db=", "unix:///a?db=", "unix:///run/redis.sock?db=3");
  expect_refused("unix:///a?db=1&db=2", "unix:///a?***", "bad database");
}

TEST(Endpoint, RefusesAMissingOrImpossibleHost) {
  // An IPv6 address without brackets cannot be distinguished from a port.
  for (const char* url : {"redis://", "redis://:6379", "redis:///0", "redis://?x"}) {
    EXPECT_TRUE(contains(error_of(Endpoint::parse(url)), "names no host")) << url;
  }
  expect_refused("redis://u:hunter2@", "redis://***@", "names no host");
  for (const char* url : {"redis://::1:6379", "redis://::1", "redis://u:hunter2@::1:6379/3"}) {
    EXPECT_TRUE(contains(error_of(Endpoint::parse(url)), "brackets: write it as in redis://[::1]"))
        << url;
    EXPECT_FALSE(contains(error_of(Endpoint::parse(url)), "hunter2"));
  }
  expect_refused("redis://fe80::1", "redis://fe80***", "stands in brackets");
  expect_refused("redis://[::1", "redis://***", "bad IPv6 address");
  expect_refused("redis://[1.2.3.4]", "redis://[1.2.3.4]", "bad IPv6 address");
  expect_refused("redis://[fe80::1]", "redis://[fe80::1]", "redis://[fe80::1%eth0]:6379");
  expect_refused("redis://[fe80::1%]", "redis://[fe80::1%]", "bad IPv6 address");
  expect_refused("redis://[::1%lo]", "redis://[::1%lo]", "bad IPv6 address");
  expect_refused("redis://[::1]x", "redis://[::1]***", "cannot be read");
  expect_refused("redis://h x", "redis://h***", "cannot be read");
  expect_refused("redis://h?db=1", "redis://h***", "cannot be read");
  expect_refused("redis://h#1", "redis://h***", "cannot be read");
}

TEST(Endpoint, RefusesCredentialsThatCannotBeMeant) {
  // A letter should have been encoded, an escape is invalid, or the password is empty.
  for (const char* bad : {"u:se/cret", "u:se?cret", "u:se#cret", "u:se@cret"}) {
    expect_refused("redis://" + std::string(bad) + "@h:1", "redis://***@h:1",
                   "write it as %2F, %3F, %23 or %40");
  }
  for (const char* bad : {"u:%", "u:%4", "u:%zz", "u:% 1", "%g0:p", "u:%-1", "u:%4_"}) {
    expect_refused("redis://" + std::string(bad) + "@h", "redis://***@h", "bad percent escape");
  }
  for (const char* bad : {"", ":", "u:"}) {
    expect_refused("redis://" + std::string(bad) + "@h", "redis://***@h", "empty password");
  }
}

TEST(Endpoint, RefusesABadSocketPath) {
  // The path is relative, missing, a directory or too long for the system, or has an unknown query.
  expect_refused("unix://run/a.sock", "unix://run/a.sock", "absolute path");
  expect_refused("unix://", "unix://", "absolute path");
  expect_refused("unix:///", "unix:///", "absolute path");
  expect_refused("unix:///run/", "unix:///run/", "absolute path");
  expect_refused("unix:///a?db", "unix:///a?***", "only ?db=N");
  expect_refused("unix:///a?password=hunter2", "unix:///a?***", "only ?db=N");
  expect_refused("unix://u:hunter2@/a", "unix://***@***", "absolute path");
  const std::string path = "/" + std::string(107, 'x');
  expect_refused("unix://" + path, "unix://" + path,
                 "of 108 bytes: the system permits at most 107");
}

TEST(Endpoint, NeverShowsAPasswordHoweverMalformedTheUrl) {
  // These are all URLs that are one letter off a good one, as a user might mistype it. Neither the
  // error nor the name contains the password.
  const std::string good = "redis://user:hunter2@lock2.example:6380/3";
  const auto check = [&](const std::string& url) {
    const Result<Endpoint> result = Endpoint::parse(url);
    const std::string shown = result ? result->name() : result.error().what();
    EXPECT_EQ(shown.find(secret), std::string::npos) << url << "\n" << shown;
  };
  for (std::size_t i = 0; i <= good.size(); ++i) {
    for (const char c : std::string_view("@:/?#[]%,. x0\\\n\0\xff", 17)) {
      check(std::string(good).insert(i, 1, c));
      if (i < good.size()) check(std::string(good).replace(i, 1, 1, c));
    }
    if (i < good.size()) check(std::string(good).erase(i, 1));
    check(good.substr(0, i));
  }
  for (const char* url :
       {"redis://user:hunter2", "redis://:hunter2", "redis:/user:hunter2@host",
        "redis:user:hunter2@host", "user:hunter2@host", "redis://u:12hunter2",
        "redis://u:hunter2/h", "redis://h?password=hunter2", "redis://h:1/hunter2",
        "redis://h:1#hunter2", "redis://host@user:hunter2", "rediss://u:hunter2@h:x",
        "http://u:hunter2@h", "unix://u:hunter2@/run/a.sock", "unix:///a?db=hunter2",
        "redis://[hunter2@h"}) {
    check(url);
  }
}

}  // namespace
}  // namespace quorumlock::redis
