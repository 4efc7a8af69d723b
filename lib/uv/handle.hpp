#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <system_error>

namespace quorumlock::uv {

/// Counts what this library has open on a loop, so that the end of the last one can be awaited.
/// Copies count together: a handle that libuv is still closing may outlive whoever opened it.
class Open {
 public:
  void add() { ++it_->count; }
  void remove() {
    if (--it_->count > 0 || !it_->when_none) return;
    const auto then = std::move(it_->when_none);
    then();
  }
  [[nodiscard]] int count() const { return it_->count; }
  void when_none(std::function<void()> then) { it_->when_none = std::move(then); }

 private:
  struct Count {
    int count = 0;
    std::function<void()> when_none;
  };
  std::shared_ptr<Count> it_ = std::make_shared<Count>();
};

inline void check(int status, const char* what) {
  if (status < 0) throw std::system_error(-status, std::generic_category(), what);
}

/// Waits for a file descriptor on a loop. The descriptor stays the caller's; close() may be
/// followed at once by closing it. Unreferenced: it does not keep the loop alive.
class Poll {
 public:
  using Ready = std::function<void(int status, int events)>;

  Poll(uv_loop_t* loop, Open& open, int fd, Ready ready);
  ~Poll() { close(); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void wait_for(int events);
  void close();
  /// Whether the loop goes on for its sake.
  void keep_alive(bool yes);

 private:
  struct Handle;
  Handle* handle_;
};

/// Calls back in each turn of the loop, before it looks for input.
class BeforePoll {
 public:
  BeforePoll(uv_loop_t* loop, Open& open, std::function<void()> call);
  ~BeforePoll() { close(); }
  BeforePoll(const BeforePoll&) = delete;
  BeforePoll& operator=(const BeforePoll&) = delete;
  void close();

 private:
  struct Handle;
  Handle* handle_;
};

}  // namespace quorumlock::uv
