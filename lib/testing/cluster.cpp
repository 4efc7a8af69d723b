#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <quorumlock/admin.hpp>
#include <quorumlock/coordinator.hpp>
#include <quorumlock/testing.hpp>

#include "testing/host.hpp"

namespace quorumlock::testing {

Cluster::Cluster(int size) : host_(std::make_unique<detail::Host>(size)) {
  enroll_new(Coordinator::create(options()).value()).value();
}

Cluster::~Cluster() = default;

int Cluster::size() const noexcept {
  return host_->size();
}

Options Cluster::options() const {
  Options options;
  for (int node = 0; node < size(); ++node) {
    options.nodes.emplace_back("unix://" + host_->path(node), "node-" + std::to_string(node));
  }
  return options;
}

bool Cluster::lose(Lease& lease) {
  const std::string token = lease.owner_token();
  if (!lease.is_valid()) return false;
  for (int node = 0; node < size(); ++node) {
    host_->with(node, [&](NodeServer& server) { server.take_over(token); });
  }
  // The holder learns of the loss from the nodes' answers. The ttl is one that any lease may have.
  using std::chrono::milliseconds;
  const auto ttl = std::max(std::chrono::ceil<milliseconds>(lease.remaining()), milliseconds(100));
  const Result<void> extended = lease.extend(ttl);
  for (int node = 0; node < size(); ++node) {
    host_->with(node, [](NodeServer& server) { server.give_back(); });
  }
  return !extended && !lease.is_valid();
}

void Cluster::stop(int node) {
  host_->with(node, [](NodeServer& server) { server.stop(); });
}

void Cluster::start(int node) {
  host_->with(node, [](NodeServer& server) { server.start(); });
}

void Cluster::forget(int node) {
  host_->with(node, [](NodeServer& server) { server.forget(); });
}

void Cluster::partition(int node) {
  host_->with(node, [](NodeServer& server) { server.partition(true); });
}

void Cluster::heal(int node) {
  host_->with(node, [](NodeServer& server) { server.partition(false); });
}

void Cluster::step_clock(int node, std::chrono::nanoseconds by) {
  host_->with(node, [by](NodeServer& server) { server.step_clock(by); });
}

std::optional<std::string> Cluster::value(int node, std::string_view key) const {
  return host_->with(node, [key](NodeServer& server) { return server.value(std::string(key)); });
}

}  // namespace quorumlock::testing
