#include <quorumlock/result.hpp>

#include <string>
#include <utility>

#include <quorumlock/event.hpp>

namespace quorumlock {
namespace {

class Category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "quorumlock"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<Errc>(code)) {
      case Errc::contended: return "the lock is held by another";
      case Errc::no_quorum: return "fewer than a quorum of nodes answered";
      case Errc::expired: return "the lease has run out";
      case Errc::lost: return "the lease was lost";
      case Errc::not_held: return "the lock is not held under this token";
      case Errc::timed_out: return "the wait ran out";
      case Errc::cancelled: return "the caller cancelled it";
      case Errc::closed: return "the coordinator is closed";
      case Errc::invalid_argument: return "an argument was refused";
      case Errc::would_deadlock: return "it would block for ever";
      case Errc::misconfigured: return "the nodes contradict the options";
    }
    return "unknown";
  }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    switch (static_cast<Errc>(code)) {
      case Errc::contended: return std::errc::resource_unavailable_try_again;
      case Errc::not_held: return std::errc::permission_denied;
      case Errc::timed_out: return std::errc::timed_out;
      case Errc::cancelled: return std::errc::operation_canceled;
      case Errc::invalid_argument: return std::errc::invalid_argument;
      case Errc::would_deadlock: return std::errc::resource_deadlock_would_occur;
      default: return {code, *this};
    }
  }
  /// Some codes match, in addition to their default condition, the one that a standard mutex would
  /// report.
  [[nodiscard]] bool equivalent(int code,
                                const std::error_condition& said) const noexcept override {
    if (code == static_cast<int>(Errc::contended) && said == std::errc::device_or_resource_busy) {
      return true;
    }
    if (code == static_cast<int>(Errc::not_held) && said == std::errc::operation_not_permitted) {
      return true;
    }
    return default_error_condition(code) == said;
  }
};

}  // namespace

const std::error_category& category() noexcept {
  static const Category instance;
  return instance;
}

std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), category()};
}

struct Error::State {
  std::error_code code;
  std::string sentence;
  Outcome outcome;
};

Error::Error(std::error_code code, std::string sentence)
    : Error(code, std::move(sentence), Outcome()) {}

Error::Error(std::error_code code, std::string sentence, Outcome outcome)
    : state_(std::make_shared<const State>(State{code, printable(sentence), std::move(outcome)})) {}

std::error_code Error::code() const noexcept {
  return state_->code;
}
const char* Error::what() const noexcept {
  return state_->sentence.c_str();
}
const Outcome& Error::outcome() const noexcept {
  return state_->outcome;
}

}  // namespace quorumlock
