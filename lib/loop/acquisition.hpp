#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <quorumlock/lease.hpp>

#include "config/cluster.hpp"
#include "core/trace.hpp"
#include "loop/inbox.hpp"

namespace quorumlock::detail {

class Runtime;

/// One call of acquire, from the call until its handler.
class Acquisition final : public Task {
 public:
  std::string resource;
  std::vector<std::string> others;  ///< more resources: all are locked, or none
  Request request;
  std::optional<core::Time> requested;  ///< when the wait began; unset: when it reaches the loop
  std::stop_token stop;
  std::optional<Error> refused;  ///< the error, if the call was refused before anything was sent
  detail::Handler<Result<Lease>> handler;
  core::WaiterId waiter;
  std::unique_ptr<core::Trace> trace;  ///< null unless the caller asked for it
  bool pooled = false;  ///< made and reused by the loop; other threads make their own

  void run(Driver& driver) override;
  void dismiss() override;

  /// From now on the caller's stop_token cancels the acquisition.
  void watch(Inbox& inbox);
  /// Stops watching. False if a cancellation is in the inbox, which will dispose of this object.
  bool unwatch();

 private:
  /// Carries a stop request, which may come on any thread, to the loop.
  struct Cancel final : Task {
    explicit Cancel(Acquisition& of) : acquisition(of) {}
    void run(Driver& driver) override;
    void dismiss() override { delete &acquisition; }  // it is over, since the loop is gone
    Acquisition& acquisition;
  };
  struct OnStop {
    Acquisition* acquisition;
    Inbox* inbox;
    void operator()() const {
      acquisition->cancelling_ = true;  // before the push: the loop may run the task at once
      if (!inbox->push(&acquisition->cancel_)) acquisition->cancelling_ = false;
    }
  };

  Cancel cancel_{*this};
  bool cancelling_ = false;  // cancel_ is in the inbox
  bool over_ = false;
  std::optional<std::stop_callback<OnStop>> on_stop_;
};

}  // namespace quorumlock::detail
