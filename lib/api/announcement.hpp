#pragma once

#include <memory>
#include <string>

#include <quorumlock/election.hpp>

#include "loop/inquiry.hpp"

namespace quorumlock::detail {

/// The loop's part of a Leadership: the lease, and the proclaimed value, which it keeps on the
/// nodes as long as the lease lasts. Shared by the Leadership and the loop.
class Announcement final : public Inquiry, public std::enable_shared_from_this<Announcement> {
 public:
  Announcement(std::string value, detail::Handler<Result<Leadership>> handler)
      : value_(std::move(value)), on_led_(std::move(handler)) {}

  /// The campaign has failed: calls its handler with the error.
  void refused(const Error& error) { on_led_(error); }
  /// The lock is acquired. Announces the value on the loop; the campaign's handler is called when
  /// that round has ended.
  static void begin(std::shared_ptr<Announcement> mine, std::shared_ptr<Runtime> runtime,
                    Lease lease);

  [[nodiscard]] const Lease& lease() const { return lease_; }
  [[nodiscard]] Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] Error not_held(const char* what) const;

  // Call both on the loop.
  void proclaim(Driver& driver, std::string value, detail::Handler<Result<void>> handler);
  void resign(Driver& driver, detail::Handler<Result<void>> handler);

  void start(Driver& driver) override;
  void answered(Driver& driver, const Session::Answered& answer) override;
  void due(Driver& driver) override;
  void dismiss() override;

 private:
  void announce(Driver& driver);
  void wake_in(Driver& driver, core::Duration pause);
  void settle(Driver& driver);
  void report(Result<void> result);
  void withdraw(Driver& driver);

  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<Announcement> self_;  // keeps this alive while the loop uses it
  Lease lease_;
  std::string key_, value_;
  std::uint64_t version_ = 1;
  std::uint16_t round_ = 0;
  core::Time say_again_{};
  core::NodeSet nodes_, asked_, told_, refused_;  ///< these are about the last announcement
  bool open_ = false;                             ///< this round is not decided
  detail::Handler<Result<Leadership>> on_led_;
  detail::Handler<Result<void>> on_proclaimed_;
};

/// Checks the size of a value to be proclaimed.
Result<void> check_value(std::string_view value);

}  // namespace quorumlock::detail
