#include "loop/why_refused.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

const std::string token = std::string(40, 'a') + "@web-3:812";

core::Refused refused(Errc why, std::string holder = {}, core::Duration held_for = {}) {
  core::Refused output{.user = 1, .why = why, .attempts = 1, .tally = {}};
  output.tally.begin(core::NodeSet::first(3));
  output.holder = std::move(holder);
  if (held_for != core::Duration::zero()) output.held_since = core::Time() - held_for;
  return output;
}

std::string why_no_lock(const core::Refused& output) {
  return detail::why_no_lock(output, core::Time());
}

TEST(WhyRefused, NamesTheHolderAndForHowLong) {
  EXPECT_EQ(why_no_lock(refused(Errc::contended, token, 12'900ms)), "held by web-3:812 for 12 s");
  EXPECT_EQ(why_no_lock(refused(Errc::contended, token, 350ms)), "held by web-3:812 for 350 ms");
  EXPECT_EQ(why_no_lock(refused(Errc::contended, token)), "held by web-3:812");
  EXPECT_EQ(why_no_lock(refused(Errc::contended, "string 6")),
            "held by another program's value (a string of 6 bytes)");
  core::Refused foreign = refused(Errc::contended, "hash");
  foreign.expiry = core::never;
  EXPECT_EQ(why_no_lock(foreign), "held by another program's value (a hash), which never expires");
  foreign.expiry = core::Time() + 12s;
  EXPECT_EQ(why_no_lock(foreign),
            "held by another program's value (a hash), which expires in 12 s");
  EXPECT_EQ(why_no_lock(refused(Errc::timed_out, token, 2s)),
            "the wait ran out while the lock was held by web-3:812 for 2 s");
}

TEST(WhyRefused, DoesWithoutAHolder) {
  EXPECT_EQ(why_no_lock(refused(Errc::no_quorum, token)), "");
  core::Refused contended = refused(Errc::contended);
  EXPECT_EQ(why_no_lock(contended), "a quorum granted the lock, but too late for its ttl");
  contended.tally.record(0, Vote::held);
  EXPECT_EQ(why_no_lock(contended), "");
  core::Refused output = refused(Errc::timed_out);
  EXPECT_EQ(why_no_lock(output), "the wait ran out before a quorum had granted the lock");
  output.tally.record(0, Vote::held);
  EXPECT_EQ(why_no_lock(output), "the wait ran out while the lock was held by another");
}

TEST(WhyRefused, CountsThePermits) {
  EXPECT_EQ(why_no_permit(refused(Errc::contended), 3),
            "all 3 permits are held, or others wait for one");
  EXPECT_EQ(why_no_permit(refused(Errc::timed_out), 3),
            "the wait ran out while all 3 permits were held");
  EXPECT_EQ(why_no_permit(refused(Errc::no_quorum), 3), "");
}

TEST(WhyRefused, WhatWasNeverSentSaysHowLongItWaitedAndForWhat) {
  EXPECT_EQ(why_unsent({.before = 35, .waited = 502ms}, 5),
            "it waited for 502 ms, with 35 others before it");
  core::NodeSet full;
  for (const int node : {0, 1, 4}) full.add(node);
  EXPECT_EQ(why_unsent({.waited = 2s, .renewals = 800, .full = full}, 5),
            "it waited for 2 s, with 800 renewals of leases that go first, with 3 of 5 nodes that "
            "answer too slowly to be sent more");
  EXPECT_EQ(why_unsent({.waited = 2s}, 5),
            "it waited for 2 s, while this process was busy with other things");
}

}  // namespace
}  // namespace quorumlock::detail
