#pragma once

#include <gtest/gtest.h>
#include <quorumlock/quorumlock.hpp>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "support/answer.hpp"
#include "support/cluster.hpp"
#include "support/eventually.hpp"

namespace quorumlock {

/// Failures print times in milliseconds since the machine's boot.
inline void PrintTo(const Clock::time_point& time, std::ostream* out) {
  *out << std::chrono::duration<double, std::milli>(time.time_since_epoch()).count() << " ms";
}

}  // namespace quorumlock

namespace quorumlock::test {

using namespace std::chrono_literals;

template <class T>
::testing::AssertionResult ok(const Result<T>& result) {
  if (result) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().code() << ": " << result.error().what();
}

template <class T>
::testing::AssertionResult fails_with(const Result<T>& result, Errc code) {
  if (result) return ::testing::AssertionFailure() << "it succeeded";
  if (result.error().code() == code) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().code() << ": " << result.error().what();
}

/// A resource that no other test uses.
inline std::string resource_of_this_test(const std::string& more = "") {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  return more.empty() ? name : name + "/" + more;
}

inline Coordinator connect(Options options) {
  return Coordinator::create(std::move(options)).value();
}

/// Tests that share five nodes: each begins with all of them up and without keys.
class FiveNodes : public ::testing::Test {
 protected:
  /// Heals the cluster before the members of a suite are made, which may be coordinators: one that
  /// finds a node restarted and not yet enrolled would mistrust it for max_ttl.
  FiveNodes() { cluster().heal(); }
  static void SetUpTestSuite() { start({}); }
  static void start(const ClusterSettings& settings) {
    cluster_ = std::make_unique<Cluster>(settings);
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  static Cluster& cluster() { return *cluster_; }
  static Options options() { return cluster().options(); }
  static Coordinator connect() { return test::connect(options()); }
  /// Returns once this coordinator is connected to every node and has no keys there.
  void warm(Coordinator& coordinator) const {
    const std::string marker = key + "/warm";
    {
      const Result<Lease> lease = coordinator.acquire(marker, {.wait = 20s});
      ASSERT_TRUE(ok(lease));
      ASSERT_TRUE(eventually([&] { return cluster().holders(marker, lease->owner_token()) == 5; }));
    }
    ASSERT_TRUE(eventually([&] { return cluster().holders(marker) == 0; }));
  }

  /// Returns the code of the Error that the call throws, or 0.
  static Errc thrown_by(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return static_cast<Errc>(error.code().value());
    }
    return Errc();
  }

  /// Runs `work` in one turn of the coordinator's loop, and waits until it is done.
  static void on_loop(Coordinator& coordinator, const std::function<void()>& work) {
    Answer<bool> done;
    coordinator.async_acquire(resource_of_this_test("door"), {}, {},
                              [&work, tell = done.handler()](const Result<Lease>&) mutable {
                                work();
                                tell(true);
                              });
    EXPECT_TRUE(done.get());
  }

  const std::string key = resource_of_this_test();

 private:
  inline static std::unique_ptr<Cluster> cluster_;
};

}  // namespace quorumlock::test
