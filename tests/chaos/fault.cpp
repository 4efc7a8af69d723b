#include "chaos/fault.hpp"

namespace quorumlock::chaos {

bool Fault::available(World&, int) const {
  return true;
}

void Fault::heal(World&, int) {}

bool Fault::is_over(World&, int) {
  return true;
}

Faults all_faults() {
  Faults faults;
  add_server_faults(faults);
  add_network_faults(faults);
  add_clock_faults(faults);
  add_worker_faults(faults);
  add_list_faults(faults);
  return faults;
}

}  // namespace quorumlock::chaos
