#include "loop/token_call.hpp"

#include "config/quoted.hpp"
#include "loop/driver.hpp"

namespace quorumlock::detail {

void TokenCall::run(Driver& driver) {
  driver.calls().begin(*this);
}

void TokenCall::finish(Result<Clock::time_point> result) {
  auto then = std::move(handler);
  delete this;
  then(std::move(result));
}

void TokenCall::dismiss() {
  finish(Error(Errc::closed, "could not reach \"" + names_of(resource, others) +
                                 "\": the coordinator is closed"));
}

}  // namespace quorumlock::detail
