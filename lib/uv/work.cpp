#include "uv/work.hpp"

#include <mutex>
#include <thread>
#include <utility>

#include "uv/signals_blocked.hpp"

namespace quorumlock::uv {

/// libuv owns it until its close callback.
struct Work::Handle {
  uv_async_t async{};
  Open open;
  std::function<void()> done;
  std::shared_ptr<Ended> ended;
};

/// How the thread reports that the work is done; it may outlive everything else.
struct Work::Ended {
  std::mutex guard;
  uv_async_t* wakes = nullptr;  ///< null once nobody wants to know
};

Work::Work(uv_loop_t* loop, Open& open, std::function<void(std::stop_token)> work,
           std::function<void()> done)
    : handle_(new Handle{{}, open, std::move(done), std::make_shared<Ended>()}),
      ended_(handle_->ended) {
  handle_->async.data = handle_;
  const int status = uv_async_init(loop, &handle_->async, [](uv_async_t* async) {
    auto* mine = static_cast<Handle*>(async->data);
    { const std::lock_guard<std::mutex> after_the_work(mine->ended->guard); }
    const auto then = mine->done;  // it may destroy the owner
    then();
  });
  if (status < 0) {
    delete handle_;
    check(status, "cannot await a thread");
  }
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle_->async));
  open.add();
  ended_->wakes = &handle_->async;
  try {
    const SignalsBlocked blocked;
    std::thread([ended = ended_, token = stop_.get_token(), work = std::move(work)]() mutable {
      work(std::move(token));
      work = nullptr;
      const std::lock_guard<std::mutex> lock(ended->guard);
      if (ended->wakes != nullptr) uv_async_send(ended->wakes);
    }).detach();
  } catch (...) {
    close();
    throw;
  }
}

Work::~Work() {
  stop();
  close();
}

void Work::stop() {
  stop_.request_stop();
}

void Work::close() {
  {
    const std::lock_guard<std::mutex> lock(ended_->guard);
    ended_->wakes = nullptr;
  }
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->async), [](uv_handle_t* closed) {
    auto* mine = static_cast<Handle*>(closed->data);
    Open open = mine->open;
    delete mine;
    open.remove();
  });
}

}  // namespace quorumlock::uv
