#include "failure.hpp"

#include <string.h>

#include <cerrno>
#include <system_error>

namespace quorumlock::cli {
namespace {

int exit_code_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument:
    case Errc::misconfigured: return ExitCode::usage;
    case Errc::no_quorum: return ExitCode::no_quorum;
    case Errc::contended:
    case Errc::timed_out:
    case Errc::not_held:
    case Errc::expired:
    case Errc::lost: return ExitCode::not_to_be_had;
    case Errc::cancelled:
    case Errc::closed:
    case Errc::would_deadlock: break;
  }
  return ExitCode::failed;
}

std::string word_for(Errc code) {
  switch (code) {
    case Errc::contended: return "contended";
    case Errc::no_quorum: return "no_quorum";
    case Errc::expired: return "expired";
    case Errc::lost: return "lost";
    case Errc::not_held: return "not_held";
    case Errc::timed_out: return "timed_out";
    case Errc::cancelled: return "cancelled";
    case Errc::closed: return "closed";
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::would_deadlock: return "would_deadlock";
    case Errc::misconfigured: return "misconfigured";
  }
  return "failed";
}

/// No Errc if this machine lacks something.
Errc errc_of(const Error& error) {
  const std::error_code code = error.code();
  return code.category() == category() ? static_cast<Errc>(code.value()) : Errc();
}

}  // namespace

Failure::Failure(const Error& error)
    : exit_code_(exit_code_of(errc_of(error))),
      code_(word_for(errc_of(error))),
      sentence_(error.what()),
      outcome_(error.outcome()) {}

Failure Failure::system(const std::string& what) {
  return local(what + ": " + std::generic_category().message(errno));
}

Failure Failure::unreadable(const std::string& what) {
  const bool shortage = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
  const std::string sentence = what + ": " + std::generic_category().message(errno);
  return shortage ? local(sentence) : usage(sentence);
}

Failure Failure::interrupted(int signal, const std::string& meanwhile) {
  return {ExitCode::by_signal + signal, "interrupted",
          "interrupted by " + signal_name(signal) + " " + meanwhile};
}

Failure Failure::with(const Outcome& outcome) const {
  Failure other = *this;
  other.outcome_ = outcome;
  return other;
}

Failure Failure::ending_with(int exit_code) const {
  Failure other = *this;
  other.exit_code_ = exit_code;
  return other;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

}  // namespace quorumlock::cli
