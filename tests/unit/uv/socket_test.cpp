#include "uv/socket.hpp"

#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/uv_loop.hpp"

namespace quorumlock::uv {
namespace {

/// Counts what a socket reports.
struct Reports : Socket::Events {
  void on_open() override { ++opened; }
  void on_bytes(std::string_view) override {}
  void on_writable() override { ++writable; }
  void on_closed(std::string_view why) override { closed = why; }

  int opened = 0, writable = 0;
  std::string closed;
};

TEST(Socket, AnAddressIsConnectedToWithoutTheResolver) {
  // A name is resolved in libuv's thread pool, which may be busy with name servers that do not
  // answer.
  test::UvLoop loop;
  Open open;
  Reports reports;
  Socket socket(loop.get(), open, reports);
  for (const char* address : {"127.0.0.1", "::1"}) {
    socket.connect_tcp(address, 1);
    EXPECT_EQ(loop.get()->active_reqs.count, 0U) << address;
  }
  socket.connect_tcp("localhost", 1);
  EXPECT_EQ(loop.get()->active_reqs.count, 1U);
  socket.close();
  loop.run();
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
  Socket socket(loop.get(), open, reports);
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
