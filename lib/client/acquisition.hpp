#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <quorumlock/lease.hpp>

#include "client/cluster.hpp"
#include "client/inbox.hpp"

namespace quorumlock::client {

class Runtime;

/// One call of acquire, from the call until its handler.
class Acquisition final : public Task {
 public:
  std::string resource;
  std::vector<std::string> others;  ///< more resources: all or none
  Request request;
  std::optional<core::Time> requested;  ///< when the wait began; unset: now that it is begun
  std::stop_token stop;
  std::optional<Error> refused;  ///< before anything was sent
  detail::Handler<Result<Lease>> handler;
  core::WaiterId waiter;

  void run(Driver& driver) override;
  void dismiss() override;

  /// From the moment it is with the engine: the caller's stop_token cancels it.
  void watch(Inbox& inbox);
  /// Stops watching. False where a cancellation is on its way, which will dispose of this.
  bool unwatch();

 private:
  /// Carries a stop request, which may come on any thread, to the loop.
  struct Cancel final : Task {
    explicit Cancel(Acquisition& of) : acquisition(of) {}
    void run(Driver& driver) override;
    void dismiss() override { delete &acquisition; }  // which is over, or the loop would be there
    Acquisition& acquisition;
  };
  struct OnStop {
    Acquisition* acquisition;
    Inbox* inbox;
    void operator()() const {
      acquisition->cancelling_ = true;  // before the push: the loop may be done with it at once
      if (!inbox->push(&acquisition->cancel_)) acquisition->cancelling_ = false;
    }
  };

  Cancel cancel_{*this};
  bool cancelling_ = false;  // cancel_ is in the inbox
  bool over_ = false;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

}  // namespace quorumlock::client
