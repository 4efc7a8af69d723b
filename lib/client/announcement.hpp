#pragma once

#include <memory>
#include <string>

#include <quorumlock/election.hpp>

#include "client/inquiry.hpp"

namespace quorumlock::client {

/// The loop's side of a Leadership: the lease, and what it says of itself, kept on the nodes for as
/// long as it lasts. Shared by the handle and the loop.
class Announcement final : public Inquiry, public std::enable_shared_from_this<Announcement> {
 public:
  Announcement(std::string value, detail::Handler<Result<Leadership>> handler)
      : value_(std::move(value)), on_led_(std::move(handler)) {}

  /// The campaign is lost.
  void refused(const Error& error) { on_led_(error); }
  /// On the loop: the lock is won. The handler is called once the nodes know.
  static void begin(std::shared_ptr<Announcement> mine, std::shared_ptr<Runtime> runtime,
                    Lease lease);

  [[nodiscard]] const Lease& lease() const { return lease_; }
  [[nodiscard]] Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] Error not_held(const char* what) const;

  // On the loop.
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
  std::shared_ptr<Announcement> self_;  // while the loop knows of it
  Lease lease_;
  std::string key_, value_;
  std::uint64_t version_ = 1;
  std::uint16_t round_ = 0;
  core::Time say_again_{};
  core::NodeSet asked_, told_, refused_;
  bool open_ = false;  ///< this round is not settled
  detail::Handler<Result<Leadership>> on_led_;
  detail::Handler<Result<void>> on_proclaimed_;
};

/// Of what a candidate may say of itself.
Result<void> check_value(std::string_view value);

}  // namespace quorumlock::client
