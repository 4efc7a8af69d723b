#include "sim/server_run.hpp"

#include "wire/server_facts.hpp"

namespace quorumlock::sim {

void ServerRun::begin(std::int64_t now_us) {
  began_us_ = now_us;
  promoted_ = false;
  // Forty digits that no other run of any server has: two numbers and a mix of both.
  ++runs_;
  id_.clear();
  for (const std::uint64_t part : {seed_, runs_, seed_ * 31 + runs_}) {
    for (int digit = 0; digit < 16 && id_.size() < 40; ++digit) {
      id_ += "0123456789abcdef"[part >> (60 - 4 * digit) & 15U];
    }
  }
}

std::string ServerRun::name() const {
  redis::ServerFacts facts;
  facts.run_id = id_;
  if (promoted_) facts.history = replication_id().substr(0, 8);
  return facts.run();
}

void ServerRun::promote() {
  promoted_ = true;
  ++promotions_;
}

std::string ServerRun::replication_id() const {
  const std::string count = std::to_string(promotions_);
  return count + std::string(40 - count.size(), 'f');
}

}  // namespace quorumlock::sim
