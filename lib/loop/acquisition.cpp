#include "loop/acquisition.hpp"

#include <utility>

#include "config/quoted.hpp"
#include "loop/driver.hpp"

namespace quorumlock::detail {

void Acquisition::run(Driver& driver) {
  driver.calls().begin(*this);
}

void Acquisition::dismiss() {
  auto then = std::move(handler);
  const Error closed(Errc::closed, "could not lock \"" + names_of(resource, others) +
                                       "\": the coordinator is closed");
  delete this;
  then(closed);
}

void Acquisition::watch(Inbox& inbox) {
  over_ = cancelling_ = false;
  if (stop.stop_possible()) on_stop_.emplace(std::move(stop), OnStop{this, &inbox});
}

bool Acquisition::unwatch() {
  on_stop_.reset();  // waits if the callback is running on another thread
  over_ = true;
  return !cancelling_;
}

void Acquisition::Cancel::run(Driver& driver) {
  acquisition.cancelling_ = false;
  if (acquisition.over_) {
    driver.calls().dispose(acquisition);
  } else {
    driver.calls().cancel(acquisition);
  }
}

}  // namespace quorumlock::detail
