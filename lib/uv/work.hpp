#pragma once

#include <functional>

#include "uv/handle.hpp"

namespace quorumlock::uv {

/// Work that may block, on libuv's pool of threads.
class Work {
 public:
  /// `work` runs on the pool, and then `done` on the loop. If the object is destroyed before that,
  /// `done` is not called; `work` may still run. Only the loop's thread may use this class.
  Work(uv_loop_t* loop, Open& open, std::function<void()> work, std::function<void()> done);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  struct Request;
  Request* request_;
};

}  // namespace quorumlock::uv
