#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <quorumlock/election.hpp>
#include <quorumlock/handler.hpp>
#include <quorumlock/result.hpp>

#include "api/leader_news.hpp"
#include "api/leader_view.hpp"
#include "loop/inquiry.hpp"

namespace quorumlock::detail {

/// Asks the nodes once which candidate leads.
class LeaderLook final : public Inquiry {
 public:
  std::string name;
  detail::Handler<Result<std::optional<Leader>>> handler;

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void dismiss() override;

 private:
  void finish(Result<std::optional<Leader>> result);
  LeaderView view_;
};

/// Asks the nodes which candidate leads, whenever that may have changed, and reports each change to
/// the handler.
class LeaderWatch final : public Inquiry, public std::enable_shared_from_this<LeaderWatch> {
 public:
  LeaderWatch(std::string name, detail::Handler<std::optional<Leader>> handler)
      : name_(std::move(name)), handler_(std::move(handler)), news_(doubt_lasts) {}

  static void begin(const std::shared_ptr<LeaderWatch>& mine,
                    const std::shared_ptr<Runtime>& runtime, std::stop_token stop);
  /// Ends the watch, on the loop. The handler is not called any more.
  void stop(Driver& driver);

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void due(Driver& driver) override;
  void heard(Driver& driver, std::string_view key) override;
  void dismiss() override;

 private:
  /// No leader, or a leader without a value, is reported only once it has lasted this long.
  static constexpr core::Duration doubt_lasts = std::chrono::milliseconds(100);

  void look(Driver& driver);
  void seen(Driver& driver);

  const std::string name_;
  std::string key_;
  detail::Handler<std::optional<Leader>> handler_;
  std::stop_token stop_;
  std::shared_ptr<LeaderWatch> self_;  // keeps this alive while the loop uses it
  LeaderView view_;
  std::uint16_t round_ = 0;
  bool looking_ = false;
  bool again_ = false;  ///< something has changed since this look began
  LeaderNews news_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace quorumlock::detail
