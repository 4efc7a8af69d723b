#include "sim/server.hpp"

#include <utility>

#include "sim/resp.hpp"

namespace quorumlock::sim {

Server::Server(ServerSettings settings, WallClock its_clock, TrueTime now)
    : clock(its_clock), settings_(std::move(settings)), run_(settings_.seed) {
  begin_run(now);
}

void Server::begin_run(TrueTime now) {
  connections_.clear();
  scripts.flush();
  last_client_id_ = 0;
  run_.begin(wall_us(now));
  running_ = true;
  paused_ = false;
}

int Server::connect() {
  Connection connection;
  connection.client_id = ++last_client_id_;
  connections_.emplace(++last_connection_, std::move(connection));
  return last_connection_;
}

void Server::feed(int connection, std::string_view bytes) {
  const auto found = connections_.find(connection);
  if (found != connections_.end()) found->second.requests.feed(bytes);
}

void Server::hang_up(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  found->second.hung_up = true;
  if (found->second.requests.size() == 0) drop(connection);
}

void Server::drop(int connection) {
  connections_.erase(connection);
}

std::vector<int> Server::waiting() const {
  std::vector<int> all;
  for (const auto& [number, connection] : connections_) {
    if (connection.requests.size() > 0) all.push_back(number);
  }
  return all;
}

const Words* Server::next(int connection) const {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.requests.size() == 0) return nullptr;
  return &found->second.requests.front();
}

bool Server::execute_next(int connection, TrueTime now) {
  if (!running_ || paused_ || next(connection) == nullptr) return false;
  Connection& one = connections_.at(connection);
  one.output += execute(one, one.requests.take(), now);
  if (one.hung_up && one.requests.size() == 0) drop(connection);
  return true;
}

std::string Server::take_output(int connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return "";
  return std::exchange(found->second.output, {});
}

std::int64_t Server::wall_us(TrueTime now) const {
  return clock.at(now).count() / 1000;
}

void Server::reap(TrueTime now) {
  // A replica waits for its master's DEL.
  if (conditions.replica) return;
  for (auto& [number, database] : data) database.reap(wall_us(now) / 1000);
}

void Server::crash() {
  running_ = false;
  connections_.clear();
}

void Server::restart(TrueTime now) {
  begin_run(now);
  conditions = {};
  if (settings_.durable) {
    if (file_) data = *std::exchange(file_, {});
    reap(now);
  } else {
    data.clear();
  }
}

void Server::fail_over(Data older, TrueTime now, bool knows) {
  begin_run(now);
  conditions = {};
  file_.reset();
  data = std::move(older);
  if (knows) run_.promote();
}

void Server::stop_writing() {
  if (settings_.durable && !file_) file_ = data;
}

void Server::promote(Data of_the_other) {
  conditions.replica = false;
  run_.promote();
  file_.reset();  // a replica writes a new file
  data = std::move(of_the_other);
}

DatabaseView Server::at(TrueTime now) const {
  const auto first = data.find(0);
  return {first != data.end() ? &first->second : nullptr, wall_us(now)};
}

}  // namespace quorumlock::sim
