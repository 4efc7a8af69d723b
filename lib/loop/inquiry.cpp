#include "loop/inquiry.hpp"

#include "loop/driver.hpp"

namespace quorumlock::detail {

void Inquiry::run(Driver& driver) {
  driver.inquiries().begin(*this);
}

}  // namespace quorumlock::detail
