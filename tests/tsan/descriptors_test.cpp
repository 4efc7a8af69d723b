// Tests that no alarm is raised for numbers of descriptors which libuv closed and another thread
// was given (seen_close.cpp). An alarm ends the program, as CMakePresets.json sets halt_on_error.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

// Opens and closes what a loop of ours has: an epoll, an eventfd for its wake-ups, and a socket.
void open_and_close_by_libuv() {
  uv_loop_t loop;
  uv_async_t wake;
  uv_tcp_t socket;
  ASSERT_EQ(uv_loop_init(&loop), 0);
  ASSERT_EQ(uv_async_init(&loop, &wake, nullptr), 0);
  ASSERT_EQ(uv_tcp_init_ex(&loop, &socket, AF_INET), 0);
  uv_close(reinterpret_cast<uv_handle_t*>(&wake), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&socket), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  ASSERT_EQ(uv_loop_close(&loop), 0);
}

// Each thread takes its turn after the one before. A relaxed counter does not order them in the
// sanitizer's eyes, as nothing orders a coordinator's thread and another one that come to have the
// same descriptor one after the other.
void one_after_the_other(const std::vector<void (*)()>& turns) {
  std::atomic<std::size_t> turn = 0;
  std::vector<std::thread> threads;
  for (std::size_t own = 0; own < turns.size(); ++own) {
    threads.emplace_back([&, own] {
      while (turn.load(std::memory_order_relaxed) != own) std::this_thread::yield();
      turns[own]();
      turn.store(own + 1, std::memory_order_relaxed);
      // A thread that ends would order what it did before what its successor does.
      while (turn.load(std::memory_order_relaxed) != turns.size()) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void keep_open(int descriptor) {
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(fcntl(descriptor, F_SETFD, FD_CLOEXEC), 0);
}

TEST(Descriptors, AreReusedByAnotherThreadAfterLibuvHasClosedThem) {
  const auto open_some_of_each_kind = [] {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    keep_open(socket(AF_UNIX, SOCK_STREAM, 0));
    keep_open(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK));
    keep_open(epoll_create1(0));
    keep_open(eventfd(0, 0));
  };
  one_after_the_other({open_and_close_by_libuv, open_some_of_each_kind});
}

TEST(Descriptors, AreReusedByAnotherLoopAfterLibuvHasClosedThem) {
  one_after_the_other({open_and_close_by_libuv, open_and_close_by_libuv});
}

}  // namespace
