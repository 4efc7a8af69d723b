#include "uv/work.hpp"

#include <memory>
#include <utility>

namespace quorumlock::uv {

/// libuv owns it until its callback; `owner` is null once nobody wants to hear of the end.
struct Work::Request {
  uv_work_t request{};
  Work* owner;
  Open open;
  std::function<void()> work;
  std::function<void()> done;
};

Work::Work(uv_loop_t* loop, Open& open, std::function<void()> work, std::function<void()> done)
    : request_(new Request{{}, this, open, std::move(work), std::move(done)}) {
  request_->request.data = request_;
  const int status = uv_queue_work(
      loop, &request_->request,
      [](uv_work_t* request) { static_cast<Request*>(request->data)->work(); },
      [](uv_work_t* request, int) {
        const std::unique_ptr<Request> mine(static_cast<Request*>(request->data));
        if (mine->owner != nullptr) {
          mine->owner->request_ = nullptr;
          mine->done();  // may destroy the owner
        }
        mine->open.remove();
      });
  if (status < 0) {
    delete std::exchange(request_, nullptr);
    check(status, "cannot use libuv's pool of threads");
  }
  open.add();
}

Work::~Work() {
  if (request_ == nullptr) return;
  request_->owner = nullptr;
  uv_cancel(reinterpret_cast<uv_req_t*>(&request_->request));  // unless it has begun
}

}  // namespace quorumlock::uv
