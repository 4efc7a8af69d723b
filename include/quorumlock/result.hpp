#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>
#if defined(__cpp_lib_expected)
#include <expected>
#endif

#include <quorumlock/detail/export.hpp>
#include <quorumlock/outcome.hpp>

namespace quorumlock {

/// The reasons why an operation did not do what was asked. A std::error_code enum.
enum class Errc {
  contended = 1,     ///< a quorum of nodes answered, and another client holds the lock
  no_quorum,         ///< fewer than a quorum of nodes answered
  expired,           ///< the lease ran to its end: not renewed, or its limits were reached
  lost,              ///< the lease could not be renewed, or a quorum of nodes no longer holds it
  not_held,          ///< there is nothing to extend or release under this token
  timed_out,         ///< the wait ended while another client held the lock, or before this process
                     ///< could send the request, since too many requests came at once
  cancelled,         ///< the caller's stop_token was requested to stop
  closed,            ///< the coordinator is closed, or this is a forked child of its process
  invalid_argument,  ///< refused before anything was sent
  would_deadlock,    ///< a blocking call on the loop's own thread, or a lock taken twice
  misconfigured,     ///< the nodes contradict the options
};

/// The category of error codes made from an Errc; its name is "quorumlock".
QUORUMLOCK_EXPORT const std::error_category& category() noexcept;
/// Lets an Errc convert to a std::error_code.
QUORUMLOCK_EXPORT std::error_code make_error_code(Errc code) noexcept;

/// One sentence on what went wrong, with an error code and, if nodes were asked, their votes. An
/// error is cheap to copy, since copies share one immutable state.
///
/// The code is an Errc, unless this machine lacks something: a thread, a descriptor or memory. Then
/// it is one of std::errc: resource_unavailable_try_again, too_many_files_open, not_enough_memory.
class QUORUMLOCK_EXPORT Error : public std::exception {
 public:
  /// An error with its sentence, which is made printable(), and the votes if
  /// nodes were asked. An Errc converts to its code.
  Error(std::error_code code, std::string sentence);
  Error(std::error_code code, std::string sentence, Outcome outcome);

  /// The error code. It compares equal to an Errc, and to the std::errc that fits.
  [[nodiscard]] std::error_code code() const noexcept;
  /// The sentence.
  [[nodiscard]] const char* what() const noexcept override;
  /// Each node's vote; no votes if no node was asked.
  [[nodiscard]] const Outcome& outcome() const noexcept;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace quorumlock

template <>
struct std::is_error_code_enum<quorumlock::Errc> : std::true_type {};

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
