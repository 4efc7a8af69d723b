#include "loop/inquiry.hpp"

#include "loop/driver.hpp"

namespace quorumlock::detail {

void Inquiry::run(Driver& driver) {
  driver.begin(*this);
}

}  // namespace quorumlock::detail
