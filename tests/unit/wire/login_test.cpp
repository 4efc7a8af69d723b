#include "wire/login.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <utility>

#include "support/link_driver.hpp"

namespace quorumlock::test {
namespace {

using redis::Login;
using redis::Secret;
using Strings = std::vector<std::string>;

/// Whether the text is in this memory, which belongs to the test.
bool has(const char* memory, std::size_t size, std::string_view text) {
  return std::string_view(memory, size).find(text) != std::string_view::npos;
}

TEST(LoginSecret, IsOverwrittenWhenItGoes) {
  // A short text is inside the object itself, whose memory belongs to the test, so no freed memory
  // is read. Copies and moves leave nothing behind either.
  alignas(Secret) char memory[3][sizeof(Secret)] = {};
  auto* first = new (memory[0]) Secret("hunter2");
  auto* second = new (memory[1]) Secret(*first);
  auto* third = new (memory[2]) Secret(std::move(*first));
  EXPECT_EQ(std::string_view(*second), "hunter2");
  EXPECT_EQ(std::string_view(*third), "hunter2");
  EXPECT_TRUE(has(memory[2], sizeof(Secret), "hunter2"));
  EXPECT_FALSE(has(memory[0], sizeof(Secret), "hunter2"));
  *second = Secret("another");
  EXPECT_FALSE(has(memory[1], sizeof(Secret), "hunter2"));
  second->~Secret();
  third->~Secret();
  first->~Secret();
  EXPECT_FALSE(has(memory[1], sizeof(Secret), "another"));
  EXPECT_FALSE(has(memory[2], sizeof(Secret), "hunter2"));
}

TEST(Login, ABufferIsOverwrittenAsAWhole) {
  // The whole capacity of a text is overwritten, not only its size, and it is kept.
  std::string text = "a password that was here before";
  const std::size_t room = text.capacity();
  text.resize(2);
  redis::wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text.capacity(), room);
  text.resize(room);
  EXPECT_EQ(text.find_first_not_of('\0'), text.npos);
}

/// The answer to the PING that follows a login.
const std::string mark = "$16\r\nquorumlock:login\r\n";

TEST(LoginOnLink, ThePasswordIsOverwrittenOnceItIsWritten) {
  // The link's output still has its memory after all bytes are written: the password is not in it.
  LinkDriver driver({.host = "n1", .login = {"locker", "hunter2"}});
  driver.start();
  driver.open();
  const std::string_view output = driver.link.output();
  ASSERT_TRUE(has(output.data(), output.size(), "hunter2"));
  driver.link.wrote(output.size());
  EXPECT_FALSE(has(output.data(), output.size(), "hunter2"));
}

TEST(LoginOnLink, LogsInAgainOnTheConnectionThatIsThere) {
  // A new password is sent in order with other commands, whose answers are unaffected.
  LinkDriver driver({.host = "n1", .login = {"locker", "old"}});
  driver.come_up();
  driver.send(1);
  driver.link.log_in(driver.now, {"locker", "hunter2"});
  driver.send(2);
  EXPECT_EQ(driver.written(),
            (Strings{"PING 1", "AUTH locker hunter2", "PING quorumlock:login", "PING 2"}));
  driver.feed("+OK\r\n+OK\r\n" + mark + "+OK\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "2 granted"}));
  driver.close();
  driver.reconnect();
  EXPECT_EQ(driver.written()[0], "AUTH locker hunter2");
}

TEST(LoginOnLink, ARefusedPasswordLosesNothingAndIsNotTriedAgain) {
  // The connection goes on under its old login; one sentence says so, without the password, even if
  // the node repeats it.
  LinkDriver driver({.host = "n1", .login = {"locker", "old"}});
  driver.come_up();
  const std::size_t notes = driver.notes().size();
  driver.link.log_in(driver.now, {"locker", "hunter2"});
  driver.written();
  driver.feed("-WRONGPASS not 'locker' 'hunter2'\r\n" + mark);
  driver.pass(std::chrono::hours(1));
  EXPECT_TRUE(driver.written().empty());
  EXPECT_EQ(driver.link.state(), LinkState::up);
  ASSERT_EQ(driver.notes().size(), notes + 1);
  EXPECT_NE(driver.notes().back().find("refused to log us in again"), std::string::npos);
  EXPECT_NE(driver.notes().back().find("'locker' '***'"), std::string::npos);
}

TEST(Login, AShortPasswordIsNotShownByWhatIsAroundIt) {
  const auto said = [](const std::string& words, const std::string& password) {
    return redis::words_of({redis::Reply::Type::error, 0, words, {}}, {"", password});
  };
  const std::string refused = "WRONGPASS invalid username-password pair or user is disabled.";
  for (const std::string password : {"p", "user", "password"}) {
    EXPECT_EQ(said(refused, password), refused) << "whatever the password is";
  }
  for (const std::string password : {"c", "z", "may"}) {
    EXPECT_EQ(said("NOPERM may not run the 'set' command", password), "NOPERM ***");
  }
  EXPECT_EQ(said("zz 1", "zz"), "***") << "the first word may be the password";
  EXPECT_EQ(said("ERR no 'hunter2' here", "hunter2"), "ERR no '***' here");
}

TEST(LoginOnLink, WaitsForTheGreetingAndForTheRecord) {
  // While the greeting goes on, and while commands wait for the record, a new password waits, too.
  LinkDriver driver({.host = "n1", .login = {"locker", "old"}});
  driver.start();
  driver.open();
  driver.link.log_in(driver.now, {"locker", "new"});
  Strings greeting = driver.greet();
  EXPECT_EQ(greeting.front(), "AUTH locker old");
  EXPECT_EQ(driver.written(), (Strings{"AUTH locker new", "PING quorumlock:login"}));
  driver.feed("+OK\r\n" + mark);
  driver.doubt();
  EXPECT_EQ(driver.written().size(), 1U);
  driver.send(1);
  driver.link.log_in(driver.now, {"locker", "newer"});
  EXPECT_TRUE(driver.written().empty());
  driver.feed(LinkDriver::both("run1:abc"));
  EXPECT_EQ(driver.written(), (Strings{"PING 1", "AUTH locker newer", "PING quorumlock:login"}));
}

TEST(LoginOnLink, ARefusalThatTheServerDropsShiftsNoAnswer) {
  // Redis 8 sends nothing for an AUTH that it refuses if it read another command with it. The
  // answers to the commands after it belong to these.
  LinkDriver driver({.host = "n1", .login = {"locker", "old"}});
  driver.come_up();
  const std::size_t notes = driver.notes().size();
  driver.send(1);
  driver.link.log_in(driver.now, {"locker", "hunter2"});
  driver.send(2);
  driver.send(3);
  driver.written();
  driver.feed("+OK\r\n" + mark + "-BUSY\r\n+OK\r\n");
  EXPECT_EQ(driver.said(), (Strings{"1 granted", "2 busy", "3 granted"}));
  EXPECT_EQ(driver.link.state(), LinkState::up);
  ASSERT_EQ(driver.notes().size(), notes + 1);
  EXPECT_NE(driver.notes().back().find("refused to log us in again"), std::string::npos);
}

TEST(LoginOnLink, WithoutTheRightToPingTheOrderOfAnswersIsStillKnown) {
  // A login that was accepted is answered OK, and the error after it is the mark's. If a refused
  // one was dropped, that error looks like its answer, and the next answer is not a mark: the link
  // starts anew.
  const std::string forbidden =
      "-NOPERM this user has no permissions to run the 'ping' command\r\n";
  for (const bool dropped : {false, true}) {
    LinkDriver driver({.host = "n1", .login = {"locker", "old"}});
    driver.come_up();
    driver.link.log_in(driver.now, {"locker", "hunter2"});
    driver.send(1);
    driver.written();
    driver.feed((dropped ? "" : "+OK\r\n") + forbidden + "+OK\r\n");
    if (dropped) {
      EXPECT_NE(driver.link.state(), LinkState::up);
      EXPECT_EQ(driver.link.trouble(driver.now), "lost the order of its answers at a login");
    } else {
      EXPECT_EQ(driver.said(), Strings{"1 granted"});
      EXPECT_EQ(driver.link.state(), LinkState::up);
    }
  }
}

TEST(LoginOnLink, WithoutAnythingToLogInWithTheVoteIsUnauthorized) {
  // The driver found no password: the node is down for that reason, and tried again later.
  LinkDriver driver;
  driver.start();
  driver.link.on_no_login(driver.now, "its password_file \"/f\" cannot be read");
  driver.pass(std::chrono::milliseconds(1));
  EXPECT_EQ(driver.link.reason(), Vote::unauthorized);
  EXPECT_EQ(driver.link.trouble(driver.now), "its password_file \"/f\" cannot be read");
  EXPECT_NE(driver.link.deadline(), core::never);
}

}  // namespace
}  // namespace quorumlock::test
