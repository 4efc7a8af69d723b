#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/endpoint.hpp"
#include "wire/reply.hpp"

namespace quorumlock::redis {

/// Asks all Sentinels of a service for the address of its primary, and counts their answers. An
/// address counts once a majority of the named Sentinels reports it, so that a Sentinel that is cut
/// off does not lead clients to a server that the others have replaced.
class PrimaryPoll {
 public:
  /// `sentinels` outlives this object.
  explicit PrimaryPoll(const Sentinels& sentinels);

  /// Appends the question, which is the same for each Sentinel.
  void append_question(std::string& out) const;

  /// Takes the reply of the Sentinel with this index.
  void on_reply(std::size_t sentinel, const Reply& reply);
  /// Notes whom the connection to this Sentinel waits for.
  void on_awaiting(std::size_t sentinel, std::string_view whom);
  /// Notes that this Sentinel will not answer.
  void on_failed(std::size_t sentinel, std::string_view why);

  /// The address that a majority reports.
  [[nodiscard]] const std::optional<HostPort>& primary() const { return primary_; }
  /// Whether there is a primary, or can be none any more.
  [[nodiscard]] bool is_decided() const;
  /// A clause with what each Sentinel said, for when no address has a majority.
  [[nodiscard]] std::string why_not() const;
  /// Whom an undecided poll waits for, as a part of a sentence, with what each Sentinel said.
  [[nodiscard]] std::string awaited() const;

 private:
  struct Report {
    bool is_there = false;
    std::optional<HostPort> reported = {};
    std::string why = {};  ///< nothing was reported; before that, whom its connection waits for
  };

  void count(std::size_t sentinel, Report answer);
  [[nodiscard]] int reports_of(const HostPort& address) const;
  [[nodiscard]] std::string text_of(std::size_t sentinel) const;

  const Sentinels* sentinels_;
  std::vector<Report> answers_;
  std::optional<HostPort> primary_;
};

}  // namespace quorumlock::redis
