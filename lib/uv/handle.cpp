#include "uv/handle.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "uv/descriptor.hpp"

namespace quorumlock::uv {
namespace {

/// libuv ends the process without a word if it may not wait. Since 1.45 it waits by epoll_pwait().
/// Before that it does so only if the system has no epoll_wait(), and the loop's thread then takes
/// signals that are not for it.
void check_waiting(const Descriptor& watched, const char* what) {
  const auto check_call = [](int result, const std::string& name) {
    if (result >= 0) return;
    throw std::system_error(
        errno, std::generic_category(),
        "the system call " + name + "() failed (does this process's seccomp profile forbid it?)");
  };
  const Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) check(-errno, what);
  epoll_event event{};
  check_call(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, watched.get(), &event), "epoll_ctl");
  if (uv_version() >= (1U << 16 | 45U << 8)) {
    check_call(::epoll_pwait(epoll.get(), &event, 1, 0, nullptr), "epoll_pwait");
  } else {
    check_call(::epoll_wait(epoll.get(), &event, 1, 0), "epoll_wait");
  }
}

}  // namespace

void check_descriptors(int count, const char* what) {
  std::vector<Descriptor> opened;
  if (count >= 2) {
    opened.emplace_back(::eventfd(0, EFD_CLOEXEC));
    if (!opened.back()) check(-errno, what);
    check_waiting(opened.back(), what);
    opened.clear();
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
