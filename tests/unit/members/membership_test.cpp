#include "members/membership.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lock/placement.hpp"
#include "support/printing.hpp"

// Which nodes vote, as one node knows it.
namespace quorumlock::redis {
namespace {

using namespace std::chrono_literals;

const NodeNames abc = {"a", "b", "c"};
const NodeNames abd = {"a", "b", "d"};
const NodeNames abcd = {"a", "b", "c", "d"};
const NodeNames abcde = {"a", "b", "c", "d", "e"};

Membership settled(const NodeNames& list, std::uint32_t epoch = 4) {
  return {7, epoch, ListPhase::settled, "a", {}, list};
}
Membership announced(const NodeNames& from, const NodeNames& to) {
  return {7, 4, ListPhase::announced, "a", from, to};
}
Membership unsettled(const NodeNames& from, const NodeNames& to) {
  return {7, 5, ListPhase::unsettled, "a", from, to};
}

TEST(Membership, TextsAreReadAsTheyAreWritten) {
  // The names include ones with the characters that separate words and names.
  for (const Membership& one :
       {settled(abc), announced(abc, abd), unsettled(abc, abcd),
        Membership{7, 4, ListPhase::announced, "a", abc, abc, {10'000, 40}, {20'000, 80}},
        Membership{~0ULL, ~0U, ListPhase::settled, "odd name,%", {}, {"[::1]:7", "odd name,%"}}}) {
    const std::optional<MembersMark> mark = MembersMark::parse(one.mark().to_string());
    ASSERT_TRUE(mark) << one.mark().to_string();
    EXPECT_EQ(*mark, one.mark());
    const std::optional<Membership> read = Membership::parse(one.text(), *mark);
    ASSERT_TRUE(read) << one.text();
    EXPECT_EQ(*read, one);
  }
  EXPECT_EQ(announced(abc, abd).text(), "a a a,b,c a,b,d 30000,86400 30000,86400");
  EXPECT_EQ(settled(abc).text(), "a s - a,b,c - 30000,86400");
  EXPECT_EQ(settled(abc).mark().to_string().substr(0, 20), "0000000000000007.4s.");
}

TEST(Membership, ATextThatIsNotTheMarkedOneIsNotRead) {
  // The digest holds the record and the list together, and a text has to be whole.
  const Membership one = settled(abc);
  EXPECT_FALSE(Membership::parse(settled(abd).text(), one.mark()));
  EXPECT_FALSE(Membership::parse(one.for_node("b").text(), one.mark()));
  // The last ones have odd terms.
  for (const char* text : {"",
                           "a s -",
                           "a s - a,b",
                           "a s - b,a - 1,1",
                           "a s - a,a - 1,1",
                           "a s - a, - 1,1",
                           "a s a,b a,b - 1,1",
                           "a a - a,b 1,1 1,1",
                           "a x - a,b - 1,1",
                           " s - a,b - 1,1",
                           "a s - %4 - 1,1",
                           "a s - a b - 1,1",
                           "a s - a,b 1,1 1,1",
                           "a a a,b a,b - 1,1",
                           "a s - a,b - 1",
                           "a s - a,b - 0,1",
                           "a s - a,b - 1,0",
                           "a s - a,b - 01,1",
                           "a s - a,b - 1,1,1",
                           "a s - a,b - 9223372036854775807,1"}) {
    const MembersMark mark{7, 4, ListPhase::settled, core::Placement::hash(text)};
    EXPECT_FALSE(Membership::parse(text, mark)) << text;
  }
  for (const char* text :
       {"", "7.4s.8", "0000000000000007.4s.", "0000000000000007.s.0000000000000008",
        "0000000000000007.4x.0000000000000008", "0000000000000007.04s.0000000000000008",
        "0000000000000007.4s.00000000000000080", "000000000000000G.4s.0000000000000008"}) {
    EXPECT_FALSE(MembersMark::parse(text)) << text;
  }
}

TEST(Membership, OneListIsServedUnlessAChangeIsAnnounced) {
  // While a change is announced the new list has the next epoch; once it is decided, the old list
  // is refused.
  EXPECT_EQ(settled(abc).epoch_of(abc), 4U);
  EXPECT_EQ(settled(abc).epoch_of(abd), std::nullopt);
  EXPECT_EQ(announced(abc, abd).epoch_of(abc), 4U);
  EXPECT_EQ(announced(abc, abd).epoch_of(abd), 5U);
  EXPECT_EQ(unsettled(abc, abd).epoch_of(abc), std::nullopt);
  EXPECT_EQ(unsettled(abc, abd).epoch_of(abd), 5U);
}

TEST(Membership, TermsAreThoseOfTheListThatGovernsUntilTheSettle) {
  // A greater max_ttl counts from the settle; a node that forgot waits for as long as votes may
  // live; a counter lives as long as either list says, and an absent one has not for the shorter.
  const ListTerms shorter{10'000, 40}, longer{20'000, 80};
  Membership its{7, 4, ListPhase::announced, "a", abc, abc, shorter, longer};
  EXPECT_EQ(its.terms_of(abc), (std::vector{shorter, longer}));
  EXPECT_EQ(its.longest_ttl(shorter), 10s);
  EXPECT_EQ(its.longest_ttl(longer), 10s);
  EXPECT_EQ(its.quarantine(), 10s);
  EXPECT_EQ(its.longest_memory(), 80s);
  EXPECT_EQ(its.shortest_memory(), 40s);
  its.phase = ListPhase::unsettled;
  EXPECT_EQ(its.terms_of(abc), std::vector{longer});
  EXPECT_EQ(its.longest_ttl(longer), 10s);
  EXPECT_EQ(its.quarantine(), 20s);
  EXPECT_EQ(its.longest_memory(), 80s);
  EXPECT_EQ(its.shortest_memory(), 40s);
  const Membership after{7, 5, ListPhase::settled, "a", {}, abc, {}, longer};
  EXPECT_EQ(after.longest_ttl(longer), 20s);
  EXPECT_EQ(after.quarantine(), 20s);
  EXPECT_EQ(after.shortest_memory(), 80s);
  EXPECT_TRUE(after.serves(abc, longer));
  EXPECT_FALSE(after.serves(abc, shorter));
}

TEST(Membership, AClientThatNamesOtherTermsIsToldBoth) {
  const Membership its{7, 4, ListPhase::announced, "a", abc, abc, {10'000, 40}, {20'000, 80}};
  const auto vote = [&](const NamedTerms& named) {
    return terms_difference(its, abc, named).first;
  };
  EXPECT_EQ(vote({}), Vote::pending);
  EXPECT_EQ(vote({10'000, {}}), Vote::pending);
  EXPECT_EQ(vote({20'000, 80}), Vote::pending);
  EXPECT_EQ(vote({10'000, 80}), Vote::max_ttl_differs) << "no list has both";
  EXPECT_EQ(vote({{}, 60}), Vote::terms_differ);
  EXPECT_THAT(terms_difference(its, abc, {{}, 60}).second,
              ::testing::HasSubstr("fencing_memory 80s since epoch 4, and ours is 1m"));
}

TEST(Membership, AClientIsKnownByItsListAndTheTermsThatItNames) {
  const ListTerms terms{10'000, 40};
  for (const NamedTerms& named : {NamedTerms{}, NamedTerms{10'000, {}}, NamedTerms{{}, 40}}) {
    EXPECT_TRUE(is_mark_of(list_mark(abc, named), abc, terms));
    EXPECT_FALSE(is_mark_of(list_mark(abd, named), abc, terms));
  }
  EXPECT_FALSE(is_mark_of(list_mark(abc, {20'000, {}}), abc, terms));
}

TEST(Membership, ANewNodeMayVoteFromTheAnnouncementOn) {
  // A node that leaves votes until the change is decided.
  for (const char* const name : {"b", "c", "d"}) {
    EXPECT_TRUE(announced(abc, abd).may_vote(name)) << name;
    EXPECT_EQ(unsettled(abc, abd).may_vote(name), name != std::string_view("c")) << name;
    EXPECT_EQ(settled(abd).may_vote(name), name != std::string_view("c")) << name;
  }
}

TEST(Membership, VouchersAreCountedByTheNamesOfEachListThatIsAskedFor) {
  EXPECT_EQ(settled(abc).asks(), nullptr);
  EXPECT_EQ(*announced(abc, abd).asks(), abc);
  EXPECT_EQ(*unsettled(abc, abd).asks(), abc);
  EXPECT_TRUE(settled(abc).is_vouched_for_by({"a", "c"}));
  EXPECT_FALSE(settled(abc).is_vouched_for_by({"a", "d"}));
  EXPECT_FALSE(announced(abc, abd).is_vouched_for_by({"a", "d"})) << "d is not of the old list";
  EXPECT_TRUE(announced(abc, abd).is_vouched_for_by({"a", "c"}));
  EXPECT_FALSE(unsettled(abc, abd).is_vouched_for_by({"a", "c"})) << "c is not of the new list";
  EXPECT_TRUE(unsettled(abc, abd).is_vouched_for_by({"a", "b"}));
  EXPECT_EQ(settled(abcd).vouchers_needed(), 2);
  EXPECT_EQ(announced(abc, abcde).vouchers_needed(), 2);
  EXPECT_EQ(unsettled(abc, abcde).vouchers_needed(), 3);
}

TEST(Membership, VotesWinByTheNamesOfEachListThatTheyAskFor) {
  const auto votes = [](const std::vector<Membership>& all) {
    std::vector<SharedMembership> shared;
    for (const Membership& one : all) shared.push_back(std::make_shared<Membership>(one));
    return shared;
  };
  const Membership old = announced(abc, abcde);
  EXPECT_TRUE(win(votes({settled(abc), settled(abc).for_node("b")}), abc));
  EXPECT_FALSE(win(votes({settled(abc)}), abc));
  // Three new nodes hold a majority of the new list, and of the old one only with b.
  EXPECT_FALSE(win(votes({old.for_node("a"), old.for_node("d"), old.for_node("e")}), abcde));
  EXPECT_TRUE(win(votes({old.for_node("a"), old.for_node("b"), old.for_node("d")}), abcde));
  // A node that asks for what is not there is left out, and changes nothing for the others.
  const Membership forged{7, 9, ListPhase::announced, "c", {"c", "x", "y"}, abc};
  EXPECT_TRUE(win(votes({settled(abc), settled(abc).for_node("b"), forged}), abc));
  EXPECT_FALSE(win(votes({settled(abc), forged}), abc));
}

TEST(Membership, EachStepOfAChangeIsFurtherOn) {
  EXPECT_LT(settled(abc).rank(), announced(abc, abd).rank());
  EXPECT_LT(announced(abc, abd).rank(), unsettled(abc, abd).rank());
  EXPECT_LT(unsettled(abc, abd).rank(), settled(abd, 5).rank());
}

}  // namespace
}  // namespace quorumlock::redis
