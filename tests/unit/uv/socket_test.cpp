#include "uv/socket.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "support/uv_loop.hpp"

namespace quorumlock::uv {
namespace {

/// Counts what a socket reports.
struct Reports : Socket::Events {
  void on_awaiting(std::string_view whom) override { awaited = whom; }
  void on_open() override { ++opened; }
  void on_bytes(std::string_view) override {}
  void on_writable() override { ++writable; }
  void on_closed(std::string_view why) override { closed = why; }

  int opened = 0, writable = 0;
  std::string awaited, closed;
};

/// The lookup of a name server that does not answer, unless the test plays one.
struct Silent final : Lookup {
  explicit Silent(Lookup::Listener*& its) : listener(its) {}
  void begin(const std::string&, Listener& tell) override { listener = &tell; }
  Lookup::Listener*& listener;
};

/// A port of the loopback addresses, which all accept connections.
class Listening {
 public:
  Listening() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
    ::listen(fd_.get(), 8);
    socklen_t size = sizeof any;
    ::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&any), &size);
    port_ = ntohs(any.sin_port);
  }
  [[nodiscard]] int port() const { return port_; }
  /// Accepts a connection, sends a byte on it, and returns the address that it came to.
  std::string answer() {
    const Descriptor peer(::accept(fd_.get(), nullptr, nullptr));
    sockaddr_in its{};
    socklen_t size = sizeof its;
    ::getsockname(peer.get(), reinterpret_cast<sockaddr*>(&its), &size);
    EXPECT_EQ(::send(peer.get(), "x", 1, MSG_NOSIGNAL), 1);
    return Address(reinterpret_cast<const sockaddr&>(its)).text();
  }

 private:
  Descriptor fd_;
  int port_ = 0;
};

class SocketOfAName : public ::testing::Test {
 protected:
  void TearDown() override {
    socket.close();
    loop.run();
  }
  void say(const std::vector<std::string>& texts) {
    Resolved answer{{}, true, true};
    for (const std::string& text : texts) answer.addresses.push_back(*Address::parse(text));
    listener->on_answer(answer);
  }

  test::UvLoop loop;
  Open open;
  Reports reports;
  Lookup::Listener* listener = nullptr;
  Names names{[this] { return std::make_unique<Silent>(listener); }};
  Socket socket{loop.get(), open, names, std::chrono::seconds(2), reports};
  Listening server;
};

TEST_F(SocketOfAName, AnAddressIsConnectedToWithoutTheResolver) {
  for (const char* address : {"127.0.0.1", "::1"}) socket.connect_tcp(address, 1);
  EXPECT_EQ(listener, nullptr);
  socket.connect_tcp("lock1", 1);
  EXPECT_NE(listener, nullptr);
  EXPECT_EQ(loop.get()->active_reqs.count, 0U) << "libuv's pool is the host's";
  EXPECT_EQ(reports.awaited, "the name servers, which are asked for its address");
}

TEST_F(SocketOfAName, AnAddressThatAnswersIsFoundBehindOneThatDropsEverything) {
  // 192.0.2.1 is nobody's (RFC 5737). It drops packets, or this machine has no way to it.
  socket.connect_tcp("lock1", server.port());
  say({"192.0.2.1", "127.0.0.2"});
  loop.run_until([&] { return reports.opened > 0; });
  EXPECT_EQ(server.answer(), "127.0.0.2");
  EXPECT_EQ(reports.awaited, "127.0.0.2");
}

TEST_F(SocketOfAName, TheAddressThatWorkedIsConnectedToAgainWithoutAnAnswer) {
  socket.connect_tcp("lock1", server.port());
  say({"127.0.0.2"});
  loop.run_until([&] { return reports.opened > 0; });
  server.answer();
  loop.run_until([&] { return !reports.closed.empty(); });
  reports = {};
  listener = nullptr;
  socket.connect_tcp("lock1", server.port());
  EXPECT_NE(listener, nullptr) << "the name is asked for again";
  loop.run_until([&] { return reports.opened > 0; });
  EXPECT_EQ(server.answer(), "127.0.0.2");
}

TEST_F(SocketOfAName, AConnectionEndsWhenItsNameLeadsElsewhere) {
  // The address that worked still accepts, and the answer that comes meanwhile has another one.
  const std::shared_ptr<Name> kept = names.at("lock1");
  kept->worked(*Address::parse("127.0.0.2"));
  socket.connect_tcp("lock1", server.port());
  loop.run_until([&] { return reports.opened > 0; });
  say({"127.0.0.3"});
  EXPECT_EQ(reports.closed, "its name does not lead to 127.0.0.2 any more");
}

TEST_F(SocketOfAName, TheErrorNamesEachAddress) {
  socket.connect_tcp("lock1", 1);
  say({"127.0.0.2", "127.0.0.3", "fe80::1"});
  loop.run_until([&] { return !reports.closed.empty(); });
  EXPECT_EQ(reports.closed,
            "127.0.0.2: Connection refused; 127.0.0.3: Connection refused; fe80::1: this address "
            "needs an interface that exists here, as in fe80::1%eth0");
}

TEST(Socket, AFullSocketReportsWhenItCanBeWrittenAgain) {
  // The peer reads nothing until the kernel takes no more bytes.
  const std::string path = std::filesystem::temp_directory_path() /
                           ("quorumlock-socket-test-" + std::to_string(::getpid()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);

  test::UvLoop loop;
  Open open;
  Reports reports;
  Names names([]() -> std::unique_ptr<Lookup> { return nullptr; });
  Socket socket(loop.get(), open, names, std::chrono::seconds(2), reports);
  socket.connect_unix(path);
  ::unlink(path.c_str());
  loop.run_until([&] { return reports.opened > 0; });
  const Descriptor peer(::accept(listener.get(), nullptr, nullptr));
  const std::string block(4096, 'x');
  std::size_t written = 0;
  while (const std::size_t taken = socket.write(block)) written += taken;
  EXPECT_EQ(reports.writable, 0);

  std::string bytes(written, ' ');
  EXPECT_EQ(::recv(peer.get(), bytes.data(), bytes.size(), MSG_WAITALL),
            static_cast<ssize_t>(written));
  loop.run_until([&] { return reports.writable > 0; });
  EXPECT_EQ(socket.write(block), block.size());
  EXPECT_EQ(reports.closed, "");
  socket.close();
  loop.run();
}

}  // namespace
}  // namespace quorumlock::uv
