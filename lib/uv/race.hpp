#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/clock.hpp>

#include "uv/address.hpp"

namespace quorumlock::uv {

/// Decides which of a node's addresses is connected to, and when, as a pure state machine (RFC
/// 8305, "happy eyeballs"): the next address is begun when the one before has failed, or has said
/// nothing for a quarter of a second, while that one goes on. The addresses of both families take
/// turns. The first connection wins; the caller ends the others.
///
/// Addresses may come while others are tried. If all that came have failed, the rest of the list is
/// waited for no longer than for an address, since the resolver may be silent.
class Race {
 public:
  /// All addresses together should get their turn within this time.
  explicit Race(Clock::duration within) : within_(within) {}

  /// Adds addresses, the best one first; those that the race has are left out.
  void offer(std::span<const Address> more);
  /// Takes out an address that is none of the node's any more.
  void withdraw(const Address& address);
  [[nodiscard]] std::vector<Address> addresses() const;
  /// No more addresses follow. `why` says why there are no others, if that is an error.
  void complete(std::string why = {});

  /// The address to begin with now, if there is one.
  std::optional<Address> next(Clock::time_point now);
  /// The kernel has given up this address.
  void failed(Clock::time_point now, const Address& address, std::string why);
  /// Whether nothing is left to be tried or waited for.
  [[nodiscard]] bool is_lost(Clock::time_point now) const;
  /// When to call next() and is_lost() again; Clock::time_point::max() is never.
  [[nodiscard]] Clock::time_point deadline() const;

  /// A clause for a race that is lost: what each address said, or why there is none. `named`: the
  /// addresses are those of a name, and are told.
  [[nodiscard]] std::string why(bool named) const;
  /// Whom the race waits for, as a part of a sentence.
  [[nodiscard]] std::string awaited() const;

 private:
  enum class State { waiting, begun, failed };
  struct Runner {
    Address address;
    State state = State::waiting;
    std::string why = {};
  };
  [[nodiscard]] bool has(State state) const;
  [[nodiscard]] Clock::duration pause() const;

  Clock::duration within_;
  std::vector<Runner> runners_;
  Clock::time_point last_begun_{}, last_failed_{};
  int last_family_ = 0;
  bool complete_ = false;
  std::string why_;
};

}  // namespace quorumlock::uv
