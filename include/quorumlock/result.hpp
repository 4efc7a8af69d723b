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
  using value_type = T;  ///< as in std::expected

  /// Converts from a value, and from an error.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  /// Whether there is a value.
  [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value, which must be there.
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  /// The value. Throws the Error if there is no value.
  T& value() & { return has_value() ? **this : throw error(); }
  const T& value() const& { return has_value() ? **this : throw error(); }
  T&& value() && { return has_value() ? std::move(**this) : throw error(); }

  /// The value, or `other` if there is none.
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

  /// The error, which must be there.
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

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;  ///< as in std::expected

  Result() = default;
  /// Converts from an error.
  Result(Error error) : error_(std::move(error)) {}

  /// Whether it succeeded.
  [[nodiscard]] bool has_value() const noexcept { return !error_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }
  /// Does nothing, as in std::expected<void, Error>.
  void operator*() const noexcept {}
  /// Throws the Error if there is one.
  void value() const {
    if (error_) throw *error_;
  }
  /// The error, which must be there.
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
