#include "loop/logins.hpp"

#include <algorithm>
#include <stop_token>
#include <system_error>
#include <utility>

#include "loop/password_file.hpp"

namespace quorumlock::detail {
namespace {

using core::Duration;
using core::Time;

constexpr Duration between_looks_at_a_file = std::chrono::seconds(1);
constexpr Duration after_a_refusal = std::chrono::seconds(5);
constexpr Duration first_pause = std::chrono::seconds(1);
constexpr Duration longest_pause = std::chrono::seconds(30);
/// A token is renewed this long before its end, or after nine tenths of its life if that is
/// earlier, but never in the first half of its life.
constexpr Duration renewed_before = std::chrono::seconds(30);

Duration lead_of(Duration valid_for) {
  return std::min(std::max(valid_for / 10, renewed_before), valid_for / 2);
}

}  // namespace

void Logins::keep(const std::vector<int>& numbers) {
  std::erase_if(nodes_, [&](const auto& node) {
    return std::ranges::find(numbers, node.first) == numbers.end();
  });
}

bool Logins::may_connect(Time now, int wire, int number, const redis::Endpoint& endpoint,
                         bool refused) {
  const bool from_file = !endpoint.password_file.empty();
  if (!from_file && (!ask_ || !endpoint.login.empty())) return true;
  Node& node = nodes_[number];
  node.endpoint = endpoint;
  if (!from_file) {
    const bool usable = node.known && now < node.ends;
    const bool resting = !node.trouble.empty() && now < node.due;
    // A token that was refused is asked for again, but not with every attempt to connect.
    const bool again = refused && now >= node.asked + after_a_refusal;
    if (usable && (resting || !again)) return true;
    if (resting) {
      listener_.on_no_login(wire, node.trouble);
      return false;
    }
  }
  node.waiting.push_back(wire);
  if (node.work == nullptr && !stopped_) look(now, number, node);
  return false;
}

void Logins::forget_wire(int wire) {
  for (auto& [number, node] : nodes_) std::erase(node.waiting, wire);
}

void Logins::look(Time now, int number, Node& node) {
  node.due = core::never;
  node.asked = now;
  auto found = std::make_shared<Result<Found>>(Found{});
  const auto work = [found, endpoint = node.endpoint, ask = ask_](std::stop_token stop) {
    if (!endpoint.password_file.empty()) {
      Result<redis::Secret> password = read_password(endpoint.password_file);
      if (!password) {
        *found = password.error();
      } else {
        *found = Found{{endpoint.login.user, *std::move(password)}, std::nullopt};
      }
      return;
    }
    const auto refused = [](const std::string& why) {
      return Error(Errc::invalid_argument, "has no credentials: " + why);
    };
    try {
      Result<Credentials> given = ask(endpoint.name(), std::move(stop));
      if (!given) {
        *found = refused(given.error().what());
      } else {
        *found = Found{{given->user, std::move(given->password)}, given->valid_for};
      }
    } catch (const std::exception& error) {
      *found = refused(error.what());
    } catch (...) {
      *found = refused("the callback threw something that is no std::exception");
    }
  };
  try {
    node.work = std::make_unique<uv::Work>(
        loop_, open_, work, [this, number, found] { looked(number, *std::move(found)); });
  } catch (const std::system_error& error) {
    failed(now, number, node, std::string("has no credentials: ") + error.what());
  }
}

void Logins::looked(int number, Result<Found> found) {
  const auto at = nodes_.find(number);
  if (at == nodes_.end()) return;
  Node& node = at->second;
  node.work.reset();
  if (stopped_) return;
  const Time now = Clock::now();
  if (found && found->valid_for && *found->valid_for <= Duration::zero()) {
    found = Error(Errc::invalid_argument, "has credentials that have ended already");
  }
  if (!found) return failed(now, number, node, found.error().what());
  node.trouble.clear();
  node.pause = Duration::zero();
  const bool from_file = !node.endpoint.password_file.empty();
  node.due = from_file ? now + between_looks_at_a_file : core::never;
  node.ends = core::never;
  if (found->valid_for) {
    // An end that is so far away that the sum would overflow counts as none.
    const Duration left = std::min<Duration>(*found->valid_for, std::chrono::hours(24 * 365));
    node.ends = now + left;
    node.due = node.ends - lead_of(left);
  }
  const bool is_new = !from_file || node.known != found->login;
  node.known = std::move(found->login);
  const std::vector<int> waiting = std::exchange(node.waiting, {});
  if (is_new) listener_.on_login(number, *node.known);
  for (const int wire : waiting) listener_.on_ready(wire);
}

void Logins::failed(Time now, int number, Node& node, const std::string& why) {
  node.pause = std::clamp(2 * node.pause, first_pause, longest_pause);
  node.due = now + node.pause;
  const bool is_new = std::exchange(node.trouble, why) != why;
  const bool from_file = !node.endpoint.password_file.empty();
  // An old password may be accepted still, unless a file says that it is over.
  const bool usable = !from_file && node.known && now < node.ends;
  // A wire that cannot log in says why itself.
  if (is_new && (usable || node.waiting.empty())) listener_.on_note(number, why);
  for (const int wire : std::exchange(node.waiting, {})) {
    if (usable) {
      listener_.on_ready(wire);
    } else {
      listener_.on_no_login(wire, why);
    }
  }
}

void Logins::stop() {
  stopped_ = true;
  for (auto& [number, node] : nodes_) {
    node.due = core::never;
    if (node.work != nullptr) node.work->stop();
  }
}

bool Logins::asks() const {
  return std::ranges::any_of(nodes_, [](const auto& it) { return it.second.work != nullptr; });
}

void Logins::advance(Time now) {
  for (auto& [number, node] : nodes_) {
    if (now >= node.due && node.work == nullptr) look(now, number, node);
  }
}

Time Logins::deadline() const {
  Time due = core::never;
  for (const auto& [number, node] : nodes_) {
    if (node.work == nullptr) due = std::min(due, node.due);
  }
  return due;
}

}  // namespace quorumlock::detail
