#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>
#if defined(__cpp_lib_expected)
#include <expected>
#endif

#include <quorumlock/error.hpp>

namespace quorumlock {

/// A value or an Error, like std::expected<T, Error>, to which it converts in C++23.
///
/// Dereferencing a Result without a value, or calling error() on one with a value, is undefined;
/// value() checks and throws.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The value. Throws the Error if there is no value.
  T& value() & { return has_value() ? **this : throw error(); }
  const T& value() const& { return has_value() ? **this : throw error(); }
  T&& value() && { return has_value() ? std::move(**this) : throw error(); }

  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

  [[nodiscard]] const Error& error() const noexcept { return *std::get_if<1>(&state_); }

#if defined(__cpp_lib_expected)
  operator std::expected<T, Error>() const& {
    if (has_value()) return **this;
    return std::unexpected(error());
  }
  operator std::expected<T, Error>() && {
    if (has_value()) return std::move(**this);
    return std::unexpected(error());
  }
#endif

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  void operator*() const noexcept {}
  void value() const {
    if (error_) throw *error_;
  }
  [[nodiscard]] const Error& error() const noexcept { return *error_; }

#if defined(__cpp_lib_expected)
  operator std::expected<void, Error>() const {
    if (has_value()) return {};
    return std::unexpected(error());
  }
#endif

 private:
  std::optional<Error> error_;
};

}  // namespace quorumlock
