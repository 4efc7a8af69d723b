#include "config/cluster.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <quorumlock/semaphore.hpp>

#include "unit/support/refusal.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;

Options usual() {
  Options options;
  options.nodes = {"redis://127.0.0.1:7101", "redis://u:hunter2@lock2.example:6380/3",
                   "unix:///run/redis/lock3.sock"};
  return options;
}

TEST(Cluster, KnowsItsNodesByNamesWithoutSecrets) {
  // Cluster::from() turns the options into what the driver works with.
  const Result<std::vector<detail::Cluster>> clusters = detail::Cluster::from(usual());
  ASSERT_TRUE(clusters) << clusters.error().what();
  ASSERT_EQ(clusters->size(), 1U);
  const detail::Cluster* cluster = &clusters->front();
  EXPECT_EQ(cluster->names,
            (std::vector<std::string>{"redis://127.0.0.1:7101", "redis://lock2.example:6380/3",
                                      "unix:///run/redis/lock3.sock"}));
  EXPECT_EQ(cluster->members, (std::vector<std::string>{"127.0.0.1:7101", "lock2.example:6380/3",
                                                        "/run/redis/lock3.sock"}));
  EXPECT_EQ(cluster->size(), 3);
  EXPECT_EQ(cluster->endpoints[1].login, (redis::Login{"u", "hunter2"}));
  EXPECT_TRUE(starts(error_of(detail::Cluster::from(Options())), "nodes is"));
}

TEST(Cluster, ReadsCredentialsThatAreNotInTheUrl) {
  // Credentials may be a user, the path of a file, and the value of an environment variable. If the
  // variable is gone, that is an error that names it.
  Options options = usual();
  options.nodes[0].user = "locker";
  options.nodes[0].password_file = "/run/secrets/lock";
  options.nodes[2].password_env = "QUORUMLOCK_TEST_PASSWORD";
  ::setenv("QUORUMLOCK_TEST_PASSWORD", "hunter2", 1);
  const auto clusters = detail::Cluster::from(options);
  ::unsetenv("QUORUMLOCK_TEST_PASSWORD");
  ASSERT_TRUE(clusters) << clusters.error().what();
  const std::vector<redis::Endpoint>& endpoints = clusters->front().endpoints;
  EXPECT_EQ(endpoints[0].login, (redis::Login{"locker", ""}));
  EXPECT_EQ(endpoints[0].password_file, "/run/secrets/lock");
  EXPECT_EQ(endpoints[2].login, (redis::Login{"", "hunter2"}));
  const std::string missing = error_of(detail::Cluster::from(options));
  EXPECT_TRUE(starts(missing, "nodes[2]: password_env"));
  EXPECT_TRUE(contains(missing, "\"QUORUMLOCK_TEST_PASSWORD\", which is not set"));
}

TEST(Cluster, RefusesCredentialsThatAreGivenTwice) {
  // No source wins over another: each conflict is refused in a sentence that names both.
  const auto refused = [](NodeOptions node) {
    Options options;
    options.nodes = {std::move(node)};
    return error_of(options.validate());
  };
  NodeOptions both("redis://h");
  both.password_file = "/f";
  both.password_env = "E";
  EXPECT_TRUE(contains(refused(both), "password_file and password_env are both given"));
  NodeOptions in_url("redis://u:hunter2@h");
  in_url.password_file = "/f";
  EXPECT_TRUE(contains(refused(in_url), "the URL has a password"));
  NodeOptions two_users("redis://u@h");
  two_users.user = "v";
  EXPECT_TRUE(contains(refused(two_users), "user is given in the URL and beside it"));
  NodeOptions user_and_password("redis://:hunter2@h");
  user_and_password.user = "v";
  EXPECT_TRUE(contains(refused(user_and_password), "user is given, and the URL has a password"));
}

TEST(ClusterRequest, TakesTheOptionsAsDefaults) {
  // The contract's defaults reach the engine.
  const detail::Request request = detail::request_of(usual(), {}).value();
  EXPECT_EQ(request.wait, 0s);
  EXPECT_EQ(request.terms.ttl, 10s);
  EXPECT_EQ(request.terms.stop_margin, 1s);
  EXPECT_EQ(request.terms.max_hold, core::Duration::max());
  EXPECT_EQ(request.terms.max_renewals, -1);
  EXPECT_TRUE(request.terms.auto_extend);
  EXPECT_EQ(request.terms.mode, LockMode::exclusive);
  EXPECT_TRUE(request.ordered);
  EXPECT_FALSE(request.traced);
}

TEST(ClusterRequest, OverridesTheOptions) {
  // Every member of LockOptions that has an effect is set, against an option with another value.
  Options options = usual();
  options.max_hold = 1min;
  options.max_renewals = 7;
  options.stop_margin = 2s;
  const detail::Request plain = detail::request_of(options, {}).value();
  EXPECT_EQ(plain.terms.max_hold, 1min);
  EXPECT_EQ(plain.terms.max_renewals, 7);
  EXPECT_EQ(plain.terms.stop_margin, 2s);

  const detail::Request request = detail::request_of(options, {.ttl = 20s,
                                                               .wait = forever,
                                                               .auto_extend = false,
                                                               .max_hold = 5min,
                                                               .max_renewals = 0,
                                                               .mode = LockMode::shared,
                                                               .order = WaitOrder::unordered,
                                                               .stop_margin = 3s,
                                                               .trace = true})
                                      .value();
  EXPECT_EQ(request.terms.ttl, 20s);
  EXPECT_EQ(request.wait, forever);
  EXPECT_FALSE(request.terms.auto_extend);
  EXPECT_EQ(request.terms.max_hold, 5min);
  EXPECT_EQ(request.terms.max_renewals, 0);
  EXPECT_EQ(request.terms.mode, LockMode::shared);
  EXPECT_FALSE(request.ordered);
  EXPECT_EQ(request.terms.stop_margin, 3s);
  EXPECT_TRUE(request.traced);
}

TEST(ClusterRequest, RefusesValuesThatAnEnumDoesNotHave) {
  EXPECT_TRUE(starts(error_of(detail::request_of(usual(), {.mode = static_cast<LockMode>(7)})),
                     "mode is 7: it must be LockMode::exclusive"));
  EXPECT_TRUE(starts(error_of(detail::request_of(usual(), {.order = static_cast<WaitOrder>(7)})),
                     "order is 7: it must be WaitOrder::fifo"));
}

TEST(ClusterRequest, TakesBackTheLimitsOfTheOptions) {
  Options options = usual();
  options.max_hold = 1min;
  options.max_renewals = 7;
  options.wait = 5s;
  const detail::Request request =
      detail::request_of(options,
                         {.wait = no_limit, .max_hold = no_limit, .max_renewals = no_limit})
          .value();
  EXPECT_EQ(request.wait, forever);
  EXPECT_EQ(request.terms.max_hold, forever);
  EXPECT_EQ(request.terms.max_renewals, -1);
}

TEST(ClusterRequest, HasAStopMarginOfATenthButAtLeast100ms) {
  // The stop margin follows the ttl of the request, not that of the options.
  EXPECT_EQ(detail::request_of(usual(), {.ttl = 20s}).value().terms.stop_margin, 2s);
  EXPECT_EQ(detail::request_of(usual(), {.ttl = 500ms}).value().terms.stop_margin, 100ms);
  // A margin of the options that a request's ttl is too short for is not meant for it.
  Options careful = usual();
  careful.stop_margin = 5s;
  EXPECT_EQ(detail::request_of(careful, {.ttl = 6s}).value().terms.stop_margin, 5s);
  EXPECT_EQ(detail::request_of(careful, {.ttl = 4s}).value().terms.stop_margin, 400ms);
}

TEST(ClusterRequest, RefusesImpossibleValues) {
  // The errors have the same sentences as those for the options, and valid options give none.
  const auto error = [](const LockOptions& asked, Options options = usual()) {
    return error_of(detail::request_of(options, asked));
  };
  Options named = usual();
  named.max_ttl = 30s;
  EXPECT_TRUE(starts(error({.ttl = 31s}, named), "ttl is 31s, above max_ttl, which is 30s"));
  EXPECT_EQ(error({.ttl = 31s}), error({})) << "the nodes know";
  EXPECT_TRUE(starts(error({.ttl = forever}), "ttl is forever: it must be at most 365d"));
  EXPECT_TRUE(starts(error({.ttl = 1ns}), "ttl is 1ns: it must be whole milliseconds, whi"));
  EXPECT_TRUE(starts(error({.ttl = 1ms}), "ttl is 1ms, and its margi"));
  EXPECT_TRUE(starts(error({.wait = -1s}), "wait is -1s"));
  EXPECT_TRUE(starts(error({.max_hold = 0s}), "max_hold is 0s"));
  EXPECT_TRUE(starts(error({.max_renewals = -1}), "max_renewals is -1"));
  EXPECT_EQ(error({.ttl = 4s, .stop_margin = 5s}),
            "stop_margin is 5s: it must be shorter than the ttl, which is 4s");
  EXPECT_EQ(error({.stop_margin = -1s}), "stop_margin is -1s: it must be 0s or longer");
  EXPECT_EQ(error({.order = WaitOrder::fifo}), "no error");
}

TEST(ClusterResource, RefusesNamesThatCannotBeLocked) {
  // The name is empty or too long, or prefix and resource together make one of the library's own
  // keys.
  Options options = usual();
  const auto error = [&options](std::string_view resource) {
    return error_of(detail::check_resource(options, resource));
  };
  EXPECT_EQ(error("orders:42"), "no error");
  EXPECT_EQ(error(""), "the resource is empty: name what is to be locked");
  EXPECT_EQ(error(std::string(65536, 'x')), "no error");
  EXPECT_EQ(error(std::string(65537, 'x')),
            "the resource has 65537 bytes: it must have at most 65536");
  EXPECT_EQ(error("quorumlock:x"),
            "the resource \"quorumlock:x\" would have a key that starts with \"quorumlock:\", "
            "where the library keeps its own: choose another name");
  EXPECT_EQ(error("quorumlock"), "no error");
  options.key_prefix = "quorum";
  EXPECT_NE(error("lock:x"), "no error");
  EXPECT_NE(error("lock:"), "no error");
  EXPECT_EQ(error("lock"), "no error");
  EXPECT_EQ(error("quorumlock:x"), "no error");
  options.key_prefix = "my:quorumlock:";
  EXPECT_EQ(error("x"), "no error");
}

TEST(ClusterResources, AreLockedTogetherInTheModesThatAllowIt) {
  // Any other mode is for one resource alone, and a permit has no mode at all.
  const auto error = [](LockMode mode) {
    return error_of(detail::check_others(usual(), {.mode = mode}, "a", {"b"}));
  };
  EXPECT_EQ(error(LockMode::exclusive), "no error");
  EXPECT_EQ(error(LockMode::shared), "no error");
  EXPECT_EQ(error(LockMode{7}),
            "2 resources are given, and a mode for one resource alone: several can be locked in "
            "the modes exclusive and shared");
  const auto of_many = [](int others) {
    std::vector<std::string> names;
    for (int i = 0; i < others; ++i) names.push_back(std::to_string(i));
    return error_of(detail::check_others(usual(), {}, "a", names));
  };
  EXPECT_EQ(of_many(63), "no error");
  EXPECT_EQ(of_many(64), "65 resources are given: at most 64 can be locked at once");
  EXPECT_EQ(error_of(detail::check_capacity({}, 1)), "no error");
  EXPECT_EQ(error_of(detail::check_capacity({}, Semaphore::max_capacity)), "no error");
  EXPECT_TRUE(starts(error_of(detail::check_capacity({}, 0)), "capacity is 0: a semaphore has 1"));
  EXPECT_EQ(error_of(detail::check_capacity({.mode = LockMode::shared}, 3)),
            "mode is not exclusive: a permit is held by one; leave mode out");
  EXPECT_EQ(error_of(detail::check_capacity({.mode = LockMode::shared}, {})), "no error");
}

}  // namespace
}  // namespace quorumlock
