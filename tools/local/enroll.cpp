#include <quorumlock/admin.hpp>

#include "local/enroll.hpp"

#include <stdexcept>
#include <utility>

namespace quorumlock::local {

void enroll_new(Options options) {
  options.node_timeout = options.connect_timeout = std::chrono::seconds(20);
  Result<Coordinator> coordinator = Coordinator::create(std::move(options));
  if (!coordinator) throw std::runtime_error(coordinator.error().what());
  if (const Result<void> done = quorumlock::enroll_new(*coordinator); !done) {
    throw std::runtime_error(done.error().what());
  }
}

void enroll_new(const std::vector<std::string>& urls) {
  Options options;
  options.nodes = urls;
  enroll_new(std::move(options));
}

}  // namespace quorumlock::local
