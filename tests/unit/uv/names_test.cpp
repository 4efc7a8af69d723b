#include "uv/names.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

// Names and their addresses, with a resolver that the test plays.
namespace quorumlock::uv {
namespace {

using namespace std::chrono_literals;

/// The lookups of a test: those that were begun, and the one under way.
struct Resolver {
  struct Asked final : Lookup {
    explicit Asked(Resolver& its) : resolver(its) {}
    ~Asked() override { resolver.asked = nullptr; }
    void begin(const std::string&, Listener& tell) override {
      ++resolver.lookups;
      resolver.asked = this;
      listener = &tell;
      if (resolver.at_once) listener->on_answer(*resolver.at_once);
    }
    Resolver& resolver;
    Listener* listener = nullptr;
  };

  int lookups = 0;
  Asked* asked = nullptr;
  std::optional<Resolved> at_once;  ///< as from the hosts file
};

std::vector<Address> addresses(const std::vector<std::string>& texts) {
  std::vector<Address> all;
  for (const std::string& text : texts) all.push_back(Address::parse(text).value());
  return all;
}

Resolved answer_with(const std::vector<std::string>& texts) {
  return {addresses(texts), true, true};
}

/// Writes down what it is told.
struct Seeking final : Name::Seeker {
  void on_addresses(std::span<const Address> some) override { told += "some:" + text_of(some); }
  void on_answer(const Resolved& answer) override {
    told += "all:" + text_of(answer.addresses) + answer.why;
  }
  static std::string text_of(std::span<const Address> some) {
    std::string text;
    for (const Address& address : some) text += " " + address.text();
    return text + ". ";
  }
  std::string take() { return std::exchange(told, ""); }
  std::string told;
};

class NamesTest : public ::testing::Test {
 protected:
  std::string seek(Seeking& seeker) {
    name->seek(now, seeker);
    return seeker.take();
  }

  Resolver resolver;
  Names names{[this] { return std::make_unique<Resolver::Asked>(resolver); }};
  std::shared_ptr<Name> name = names.at("lock1");
  Seeking first, second;
  Clock::time_point now = Clock::now();
};

TEST_F(NamesTest, OneLookupServesAllWhoSeek) {
  // The attempt that began the lookup is given up; those that follow take its result.
  EXPECT_EQ(seek(first), "");
  name->leave(first);
  EXPECT_EQ(seek(first), "");
  EXPECT_EQ(seek(second), "");
  EXPECT_EQ(resolver.lookups, 1);
  resolver.asked->listener->on_answer(answer_with({"10.0.0.1"}));
  EXPECT_EQ(first.take(), "all: 10.0.0.1. ");
  EXPECT_EQ(second.take(), "all: 10.0.0.1. ");
  EXPECT_EQ(resolver.asked, nullptr);
}

TEST_F(NamesTest, AnAnswerThatNobodyWaitsForServesTheNextAttempt) {
  seek(first);
  name->leave(first);
  resolver.asked->listener->on_answer(answer_with({"10.0.0.1"}));
  EXPECT_EQ(first.take(), "");
  now = Clock::now() + 1s;
  EXPECT_EQ(seek(first), "all: 10.0.0.1. ");
  EXPECT_EQ(resolver.lookups, 1);
  now += 1s;
  EXPECT_EQ(seek(first), "");
  EXPECT_EQ(resolver.lookups, 2);
}

TEST_F(NamesTest, TheAddressThatWorkedIsTriedWhileTheResolverIsSilent) {
  resolver.at_once = answer_with({"10.0.0.1", "10.0.0.2"});
  EXPECT_EQ(seek(first), "all: 10.0.0.1 10.0.0.2. ");
  name->worked(addresses({"10.0.0.2"}).front());
  EXPECT_EQ(seek(first), "all: 10.0.0.2 10.0.0.1. ") << "the one that worked is the first";
  resolver.at_once.reset();
  for (int attempt = 0; attempt < 3; ++attempt, name->leave(first)) {
    EXPECT_EQ(seek(first), "some: 10.0.0.2. ");
  }
  EXPECT_EQ(resolver.lookups, 3);
}

TEST_F(NamesTest, AnAddressThatTheAnswerDoesNotHaveIsDropped) {
  name->worked(addresses({"10.0.0.2"}).front());
  EXPECT_EQ(seek(first), "some: 10.0.0.2. ");
  resolver.asked->listener->on_answer(answer_with({"10.0.0.3"}));
  EXPECT_EQ(first.take(), "all: 10.0.0.3. ");
  now += 3s;
  EXPECT_EQ(seek(first), "");
}

TEST_F(NamesTest, AnAnswerForOneFamilySaysNothingOfTheOther) {
  // The question for IPv6 addresses was not answered.
  name->worked(addresses({"::2"}).front());
  seek(first);
  Resolved half{addresses({"10.0.0.1"}), true, false};
  EXPECT_FALSE(half.lacks(addresses({"::2"}).front()));
  EXPECT_TRUE(half.lacks(addresses({"10.0.0.2"}).front()));
  resolver.asked->listener->on_answer(half);
  now += 3s;
  first.take();
  EXPECT_EQ(seek(first), "some: ::2. ");
}

TEST_F(NamesTest, PartOfAnAnswerIsUsedAtOnce) {
  // The server answers for one family, and not for the other.
  seek(first);
  resolver.asked->listener->on_part(addresses({"10.0.0.1"}));
  EXPECT_EQ(first.take(), "some: 10.0.0.1. ");
  EXPECT_EQ(seek(second), "some: 10.0.0.1. ");
}

TEST_F(NamesTest, AFailureIsNotKept) {
  Resolved none;
  none.why = "no luck";
  resolver.at_once = none;
  EXPECT_EQ(seek(first), "all:. no luck");
  EXPECT_EQ(seek(first), "all:. no luck");
  EXPECT_EQ(resolver.lookups, 2);
  Names shortage{[]() -> std::unique_ptr<Lookup> { throw std::runtime_error("no descriptor"); }};
  shortage.at("lock1")->seek(now, first);
  EXPECT_EQ(first.take(), "all:. cannot resolve the name: no descriptor");
}

TEST_F(NamesTest, TheEndEndsALookup) {
  seek(first);
  names.close();
  EXPECT_EQ(resolver.asked, nullptr);
  EXPECT_EQ(seek(second), "");
  EXPECT_EQ(resolver.lookups, 1);
}

TEST_F(NamesTest, ANameIsForgottenWithTheLastSocketThatUsesIt) {
  EXPECT_EQ(names.at("lock1"), name);
  seek(first);
  name.reset();
  EXPECT_EQ(resolver.asked, nullptr);
}

}  // namespace
}  // namespace quorumlock::uv
