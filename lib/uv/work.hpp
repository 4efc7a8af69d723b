#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "uv/handle.hpp"

namespace quorumlock::uv {

/// Work that may block without end, on a thread that is never joined: whoever does not want the
/// result any more, or ends the process, does not wait for it. libuv's own pool would be waited for
/// at the end of the process, and is shared with the host.
class Work {
 public:
  /// `work` runs on a thread, which also destroys it, and then `done` on the loop. Only the loop's
  /// thread may use this class. Throws std::system_error if no thread can be started.
  Work(uv_loop_t* loop, Open& open, std::function<void(std::stop_token)> work,
       std::function<void()> done);
  /// Asks the work to stop. `done` is not called any more.
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Asks the work to stop; `done` follows as soon as it has.
  void stop();

 private:
  struct Handle;
  struct Ended;

  void close();

  Handle* handle_;
  std::shared_ptr<Ended> ended_;
  std::stop_source stop_;
};

}  // namespace quorumlock::uv
