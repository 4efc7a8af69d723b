#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace quorumlock {

namespace detail {

/// What a Handler does with its callable.
template <class... Args>
struct HandlerActions {
  void (*call)(void* place, Args&&... args);
  void (*move)(void* from, void* to) noexcept;  ///< also destroys `from`
  void (*destroy)(void* place) noexcept;
};

}  // namespace detail

/// A move-only callable, like std::move_only_function of C++23. It is called once unless the call
/// that takes it says otherwise.
///
/// Callables of up to four pointers that move without throwing are kept in place, larger ones on
/// the heap. A null pointer or an empty std::function makes an empty Handler.
template <class... Args>
class Handler {
 public:
  /// An empty handler.
  Handler() noexcept = default;
  /// Takes a callable.
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Handler> &&
           std::is_invocable_v<std::decay_t<F>&, Args...>) Handler(F&& callable) {
    using Callable = std::decay_t<F>;
    if constexpr (!std::is_function_v<std::remove_reference_t<F>> && requires(Callable & it) {
                    it = nullptr;
                    it == nullptr;
                  }) {
      if (callable == nullptr) return;
    }
    if constexpr (sizeof(Callable) <= sizeof(place_) && alignof(Callable) <= alignof(void*) &&
                  std::is_nothrow_move_constructible_v<Callable>) {
      ::new (place_) Callable(std::forward<F>(callable));
      actions_ = &in_place<Callable>;
    } else {
      ::new (place_) Callable*(new Callable(std::forward<F>(callable)));
      actions_ = &on_heap<Callable>;
    }
  }

  Handler(Handler&& other) noexcept { take(other); }
  Handler& operator=(Handler&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Handler() { reset(); }

  /// Whether there is a callable.
  explicit operator bool() const noexcept { return actions_ != nullptr; }
  /// Calls the callable; there is one.
  void operator()(Args... args) { actions_->call(place_, std::forward<Args>(args)...); }

  /// Destroys the callable, if there is one.
  void reset() noexcept {
    if (actions_ != nullptr) std::exchange(actions_, nullptr)->destroy(place_);
  }

 private:
  using Actions = detail::HandlerActions<Args...>;

  template <class Callable>
  static constexpr Actions in_place = {
      [](void* place, Args&&... args) {
        (*static_cast<Callable*>(place))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept {
        ::new (to) Callable(std::move(*static_cast<Callable*>(from)));
        static_cast<Callable*>(from)->~Callable();
      },
      [](void* place) noexcept { static_cast<Callable*>(place)->~Callable(); },
  };

  template <class Callable>
  static constexpr Actions on_heap = {
      [](void* place, Args&&... args) {
        (**static_cast<Callable**>(place))(std::forward<Args>(args)...);
      },
      [](void* from, void* to) noexcept { ::new (to) Callable*(*static_cast<Callable**>(from)); },
      [](void* place) noexcept { delete *static_cast<Callable**>(place); },
  };

  void take(Handler& other) noexcept {
    if (other.actions_ == nullptr) return;
    actions_ = std::exchange(other.actions_, nullptr);
    actions_->move(other.place_, place_);
  }

  const Actions* actions_ = nullptr;
  alignas(void*) std::byte place_[4 * sizeof(void*)];
};

namespace detail {
using quorumlock::Handler;
}  // namespace detail

}  // namespace quorumlock
