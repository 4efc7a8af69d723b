#include "uv/handle.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>
#include <utility>
#include <vector>

#include "uv/descriptor.hpp"

namespace quorumlock::uv {

void check_descriptors(int count, const char* what) {
  std::vector<Descriptor> opened;
  if (count >= 2) {
    int ends[2];
    // libuv ends the process if it may not make a pipe (a seccomp profile may forbid that alone).
    if (::pipe2(ends, O_CLOEXEC) != 0) check(-errno, what);
    for (const int end : ends) opened.emplace_back(end);
  }
  while (opened.size() < static_cast<std::size_t>(count)) {
    opened.emplace_back(::eventfd(0, EFD_CLOEXEC));
    if (!opened.back()) check(-errno, what);
  }
}

// libuv owns a handle until its close callback, so each handle lives on the heap and outlives its
// wrapper.

struct Poll::Handle {
  uv_poll_t poll{};
  Open open;
  Ready ready;
};

Poll::Poll(uv_loop_t* loop, Open& open, int fd, Ready ready)
    : handle_(new Handle{{}, open, std::move(ready)}) {
  handle_->poll.data = handle_;
  if (const int status = uv_poll_init(loop, &handle_->poll, fd); status < 0) {
    delete std::exchange(handle_, nullptr);
    check(status, "cannot watch a descriptor");
  }
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle_->poll));
  open.add();
}

void Poll::wait_for(int events) {
  check(uv_poll_start(&handle_->poll, events,
                      [](uv_poll_t* poll, int status, int ready) {
                        static_cast<Handle*>(poll->data)->ready(status, ready);
                      }),
        "cannot watch a descriptor");
}

void Poll::close() {
  Handle* handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) return;
  // uv_close() alone is not enough: the descriptor must be out of epoll before it is closed.
  uv_poll_stop(&handle->poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->poll), [](uv_handle_t* closed) {
    auto* mine = static_cast<Handle*>(closed->data);
    Open open = mine->open;
    delete mine;
    open.remove();
  });
}

void Poll::keep_alive(bool yes) {
  auto* handle = reinterpret_cast<uv_handle_t*>(&handle_->poll);
  yes ? uv_ref(handle) : uv_unref(handle);
}

template <class Kind>
struct EachTurn<Kind>::Handle {
  Kind kind{};
  Open open;
  std::function<void()> call;
};

template <class Kind>
EachTurn<Kind>::EachTurn(uv_loop_t* loop, Open& open, std::function<void()> call)
    : handle_(new Handle{{}, open, std::move(call)}) {
  handle_->kind.data = handle_;
  const auto turn = [](Kind* kind) { static_cast<Handle*>(kind->data)->call(); };
  if constexpr (std::is_same_v<Kind, uv_prepare_t>) {
    uv_prepare_init(loop, &handle_->kind);
    uv_prepare_start(&handle_->kind, turn);
  } else {
    uv_check_init(loop, &handle_->kind);
    uv_check_start(&handle_->kind, turn);
  }
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle_->kind));
  open.add();
}

template <class Kind>
void EachTurn<Kind>::close() {
  Handle* handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->kind), [](uv_handle_t* closed) {
    auto* mine = static_cast<Handle*>(closed->data);
    Open open = mine->open;
    delete mine;
    open.remove();
  });
}

template class EachTurn<uv_prepare_t>;
template class EachTurn<uv_check_t>;

}  // namespace quorumlock::uv
