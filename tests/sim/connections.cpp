#include "sim/connections.hpp"

#include "sim/resp.hpp"

namespace quorumlock::sim {

int Connections::open() {
  all_[++last_number_].client_id = ++last_client_id_;
  return last_number_;
}

void Connections::feed(int number, std::string_view bytes) {
  const auto found = all_.find(number);
  if (found != all_.end()) found->second.requests.feed(bytes);
}

void Connections::hang_up(int number) {
  const auto found = all_.find(number);
  if (found == all_.end()) return;
  found->second.hung_up = true;
  if (found->second.requests.size() == 0) drop(number);
}

std::int64_t Connections::kill(std::int64_t client_id, const Connection& caller) {
  return static_cast<std::int64_t>(std::erase_if(all_, [&](const auto& each) {
    return each.second.client_id == client_id && &each.second != &caller;
  }));
}

void Connections::drop_all() {
  all_.clear();
  last_client_id_ = 0;
}

std::vector<int> Connections::waiting() const {
  std::vector<int> numbers;
  for (const auto& [number, connection] : all_) {
    if (connection.requests.size() > 0) numbers.push_back(number);
  }
  return numbers;
}

const Words* Connections::next(int number) const {
  const auto found = all_.find(number);
  if (found == all_.end() || found->second.requests.size() == 0) return nullptr;
  return &found->second.requests.front();
}

int Connections::publish(const std::string& channel, const std::string& message) {
  int receivers = 0;
  for (auto& [number, connection] : all_) {
    if (!connection.channels.contains(channel)) continue;
    connection.output +=
        resp::array({resp::bulk("message"), resp::bulk(channel), resp::bulk(message)});
    told_.insert(number);
    ++receivers;
  }
  return receivers;
}

std::string Connections::take_output(int number) {
  const auto found = all_.find(number);
  if (found == all_.end()) return "";
  return std::exchange(found->second.output, {});
}

}  // namespace quorumlock::sim
