#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include <quorumlock/quorumlock.hpp>
#include <quorumlock/testing.hpp>

#include "support/eventually.hpp"

namespace quorumlock {
namespace {

using namespace std::chrono_literals;
using test::eventually;

/// Returns once the stop is requested.
void wait_for(const std::stop_token& stop) {
  std::promise<void> asked;
  const std::stop_callback on_stop(stop, [&] { asked.set_value(); });
  asked.get_future().wait();
}

class LeaderElectors : public ::testing::Test {
 protected:
  /// A candidate that runs on a thread of its own.
  struct Candidate {
    Candidate(Coordinator& coordinator, std::string value, LeaderCallbacks callbacks)
        : elector(coordinator, "billing", std::move(value), std::move(callbacks)),
          ended(std::async(std::launch::async, [this] { return elector.run(stop.get_token()); })) {}
    ~Candidate() { stop.request_stop(); }

    std::stop_source stop;
    LeaderElector elector;
    std::future<Result<void>> ended;
  };

  testing::Cluster cluster{3};
  Coordinator here = Coordinator::create(cluster.options()).value();
  Coordinator there = Coordinator::create(cluster.options()).value();
  Election election{here, "billing"};
  const LeaderCallbacks until_stopped{
      .started = [](Leadership&, const std::stop_token& stop) { wait_for(stop); }};
};

TEST_F(LeaderElectors, TheNextLeadsWhenOneIsStopped) {
  Candidate one(here, "one", until_stopped);
  ASSERT_TRUE(eventually([&] { return one.elector.leads(); }));
  Candidate two(there, "two", until_stopped);
  EXPECT_FALSE(two.elector.leads());
  one.stop.request_stop();
  EXPECT_TRUE(one.ended.get());
  EXPECT_FALSE(one.elector.leads());
  EXPECT_TRUE(eventually([&] { return two.elector.leads(); }));
  EXPECT_EQ(election.leader().value()->value, "two");
}

TEST_F(LeaderElectors, ALostLeadershipStopsTheWorkAndIsCampaignedForAgain) {
  std::vector<std::uint64_t> led;  // written by one thread, read after its end
  std::atomic<int> stopped = 0;
  LeaderCallbacks callbacks;
  callbacks.started = [&](Leadership& leadership, const std::stop_token& stop) {
    led.push_back(leadership.fencing_token());
    wait_for(stop);
  };
  callbacks.stopped = [&] { ++stopped; };
  Candidate one(here, "one", callbacks);
  ASSERT_TRUE(eventually([&] { return one.elector.leads(); }));
  cluster.partition(0);
  cluster.partition(1);
  {
    testing::ManualClock clock;
    clock.advance(1min);
  }
  EXPECT_TRUE(eventually([&] { return stopped == 1; }));
  EXPECT_FALSE(one.elector.leads());
  EXPECT_EQ(one.ended.wait_for(0s), std::future_status::timeout);
  cluster.heal(0);
  cluster.heal(1);
  EXPECT_TRUE(eventually([&] { return one.elector.leads(); }));
  one.stop.request_stop();
  EXPECT_TRUE(one.ended.get());
  EXPECT_EQ(stopped, 2);
  ASSERT_EQ(led.size(), 2u);
  EXPECT_LT(led[0], led[1]);
}

TEST_F(LeaderElectors, WorkThatReturnsByItselfLetsTheNextLead) {
  std::atomic<int> shifts = 0;
  LeaderCallbacks once = until_stopped;
  once.started = [&](Leadership&, const std::stop_token& stop) {
    if (++shifts > 1) wait_for(stop);
  };
  Candidate one(here, "one", once);
  EXPECT_TRUE(eventually([&] { return shifts == 2 && one.elector.leads(); }));
}

TEST_F(LeaderElectors, WorkThatGoesOnAfterItsStopIsUnhealthy) {
  std::promise<void> enough;
  std::promise<void> asked;
  LeaderCallbacks stubborn;
  stubborn.started = [&](Leadership&, const std::stop_token& stop) {
    wait_for(stop);
    asked.set_value();
    enough.get_future().wait();
  };
  testing::ManualClock clock;
  Candidate one(here, "one", stubborn);
  ASSERT_TRUE(eventually([&] { return one.elector.leads(); }));
  clock.advance(1h);
  EXPECT_TRUE(one.elector.check_health(0s));
  one.stop.request_stop();
  asked.get_future().wait();
  clock.advance(5s);
  EXPECT_TRUE(one.elector.check_health(5s));
  clock.advance(1s);
  const Result<void> health = one.elector.check_health(5s);
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code(), Errc::lost);
  EXPECT_STREQ(health.error().what(),
               "the leader's work for \"billing\" still runs 6s after it was asked to stop: end "
               "this process, since another leader may be at work");
  enough.set_value();
  EXPECT_TRUE(one.ended.get());
  EXPECT_TRUE(one.elector.check_health(0s));
}

TEST_F(LeaderElectors, EachChangeOfTheLeaderIsObservedUntilRunReturns) {
  std::mutex guard;
  std::vector<std::string> seen;
  LeaderCallbacks callbacks = until_stopped;
  callbacks.observed = [&](const std::optional<Leader>& leader) {
    const std::lock_guard<std::mutex> lock(guard);
    seen.push_back(leader ? leader->value : "nobody");
  };
  const auto has_seen = [&](const std::string& value) {
    return eventually([&] {
      const std::lock_guard<std::mutex> lock(guard);
      return !seen.empty() && seen.back() == value;
    });
  };
  Candidate one(here, "one", until_stopped);
  ASSERT_TRUE(eventually([&] { return one.elector.leads(); }));
  Candidate two(there, "two", callbacks);
  EXPECT_TRUE(has_seen("one"));
  one.stop.request_stop();
  EXPECT_TRUE(has_seen("two"));
  two.stop.request_stop();
  EXPECT_TRUE(two.ended.get());
  const std::size_t calls = seen.size();
  Result<Leadership> other = election.campaign("other");
  ASSERT_TRUE(other);
  EXPECT_EQ(election.leader().value()->value, "other");
  EXPECT_EQ(seen.size(), calls);
}

TEST_F(LeaderElectors, ACandidateIsStoppedWhileItWaits) {
  Leadership other = election.campaign("other").value();
  Candidate one(there, "one", until_stopped);
  EXPECT_EQ(one.ended.wait_for(0s), std::future_status::timeout);
  one.stop.request_stop();
  EXPECT_TRUE(one.ended.get());
  EXPECT_TRUE(other.is_valid());
}

TEST_F(LeaderElectors, AnExceptionOfTheWorkEndsTheRunAndResigns) {
  LeaderCallbacks broken;
  broken.started = [](Leadership&, const std::stop_token&) {
    throw std::runtime_error("no disk space");
  };
  Candidate one(here, "one", broken);
  EXPECT_THROW(one.ended.get().value(), std::runtime_error);
  EXPECT_FALSE(one.elector.leads());
  EXPECT_TRUE(Election(there, "billing").campaign("two"));
}

TEST_F(LeaderElectors, WhatCannotWorkIsRefused) {
  LeaderElector idle(here, "billing", "one", {});
  EXPECT_EQ(idle.run({}).error().code(), Errc::invalid_argument);
  LeaderElector patient(here, "billing", "one", until_stopped, {.wait = 1s});
  EXPECT_EQ(patient.run({}).error().code(), Errc::invalid_argument);
  Candidate twice(here, "one", until_stopped);
  ASSERT_TRUE(eventually([&] { return twice.elector.leads(); }));
  EXPECT_EQ(twice.elector.run({}).error().code(), Errc::invalid_argument);
  here.close();
  EXPECT_EQ(twice.ended.get().error().code(), Errc::closed);
}

}  // namespace
}  // namespace quorumlock
