#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <system_error>

namespace quorumlock::uv {

/// Counts the handles that this library has open on a loop, so that the close of the last one can
/// be awaited. Copies share one count: a handle that libuv is still closing may outlive its owner.
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

/// Throws std::system_error unless this process can open `count` more descriptors now and, if they
/// are several, wait for one.
void check_descriptors(int count, const char* what);

/// Watches a file descriptor on a loop. The caller owns the descriptor and may close it right after
/// close(). The libuv handle is unreferenced: it does not keep the loop alive.
class Poll {
 public:
  using Ready = std::function<void(int status, int events)>;

  Poll(uv_loop_t* loop, Open& open, int fd, Ready ready);
  ~Poll() { close(); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void wait_for(int events);
  void close();
  /// Sets whether this handle keeps the loop alive.
  void keep_alive(bool yes);

 private:
  struct Handle;
  Handle* handle_;
};

/// Calls back in each turn of the loop. The libuv handle is unreferenced: it does not keep the loop
/// alive.
template <class Kind>
class EachTurn {
 public:
  EachTurn(uv_loop_t* loop, Open& open, std::function<void()> call);
  ~EachTurn() { close(); }
  EachTurn(const EachTurn&) = delete;
  EachTurn& operator=(const EachTurn&) = delete;
  void close();

 private:
  struct Handle;
  Handle* handle_;
};

/// BeforePoll calls back before the loop polls for input, AfterPoll after it has handled that
/// input.
using BeforePoll = EachTurn<uv_prepare_t>;
using AfterPoll = EachTurn<uv_check_t>;

}  // namespace quorumlock::uv
