#pragma once

#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>

#include <quorumlock/export.hpp>
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
  /// An error with its sentence, which is made printable() (see printable.hpp), and the votes if
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
