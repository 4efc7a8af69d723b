#pragma once

#include <uv.h>

#include <functional>
#include <system_error>

namespace quorumlock::uv {

/// Counts what this library has open on a loop, so that the end of the last one can be awaited.
class Open {
 public:
  void add() { ++count_; }
  void remove() {
    if (--count_ > 0 || !when_none_) return;
    const auto then = std::move(when_none_);  // which may be the end of this object
    then();
  }
  [[nodiscard]] int count() const { return count_; }
  void when_none(std::function<void()> then) { when_none_ = std::move(then); }

 private:
  int count_ = 0;
  std::function<void()> when_none_;
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
