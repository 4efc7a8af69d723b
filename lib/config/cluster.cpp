#include <quorumlock/options.hpp>
#include <quorumlock/semaphore.hpp>

#include "config/cluster.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "config/quoted.hpp"
#include "config/refusal.hpp"
#include "config/tls.hpp"
#include "lock/placement.hpp"
#include "lock/quorum.hpp"
#include "lock/validity.hpp"

namespace quorumlock::detail {
namespace {

using core::Duration;
using std::chrono::milliseconds;

constexpr std::string_view reserved = "quorumlock:";
/// As long as a max_ttl that a configuration may name.
constexpr Duration longest_ttl = std::chrono::hours(365 * 24);
constexpr std::size_t longest_resource = 64 * 1024;
/// The most resources of one lease: a node is busy with 64 of them for about a millisecond.
constexpr std::size_t most_resources = 64;

/// The shortest ttl that leaves any validity after the margin for drift, in whole milliseconds.
Duration shortest_ttl(double drift_factor) {
  Duration ttl = milliseconds(3);
  while (ttl <= core::margin(ttl, drift_factor)) ttl += milliseconds(1);
  return ttl;
}

}  // namespace

Result<redis::Endpoint> endpoint_of(const NodeOptions& node, bool reads) {
  Result<redis::Endpoint> endpoint = redis::Endpoint::parse(node.url);
  if (!endpoint) return endpoint;
  const bool elsewhere = !node.password_file.empty() || !node.password_env.empty();
  if (!node.user.empty() && !endpoint->login.user.empty()) {
    return refusal("user is given in the URL and beside it: give it once");
  }
  if (elsewhere && !endpoint->login.password.empty()) {
    return refusal(
        "the URL has a password, and password_file or password_env is given, too: take it out of "
        "the URL");
  }
  if (!node.password_file.empty() && !node.password_env.empty()) {
    return refusal("password_file and password_env are both given: give one of them");
  }
  if (!node.user.empty()) {
    if (!endpoint->login.password.empty()) {
      return refusal(
          "user is given, and the URL has a password: write redis://user:password@host, or give "
          "password_file or password_env");
    }
    endpoint->login.user = node.user;
  }
  endpoint->password_file = node.password_file;
  if (node.password_env.empty() || !reads) return endpoint;
  const char* const value = std::getenv(node.password_env.c_str());
  if (value == nullptr || *value == '\0') {
    return refusal("password_env names the environment variable " +
                   detail::quoted(node.password_env) + ", which is " +
                   (value == nullptr ? "not set" : "empty") + ": it must have the password");
  }
  endpoint->login.password = value;
  return endpoint;
}

Result<std::vector<Cluster>> Cluster::from(Options options) {
  if (const Result<void> valid = options.validate(); !valid) return valid.error();
  auto groups = std::exchange(options.groups, {});
  if (groups.empty()) groups[""] = options.nodes;
  std::vector<std::string> group_names;
  for (const auto& [name, nodes] : groups) group_names.push_back(name);
  std::vector<Cluster> clusters;
  for (auto& [name, nodes] : groups) {
    Cluster& cluster = clusters.emplace_back();
    cluster.options = options;
    cluster.options.nodes = std::move(nodes);
    cluster.group = name;
    cluster.mark = core::Placement::mark(group_names, name);
    for (const NodeOptions& node : cluster.options.nodes) {
      Result<redis::Endpoint> endpoint = endpoint_of(node, true);
      if (!endpoint) {
        const std::string place = "nodes[" + std::to_string(cluster.endpoints.size()) + "]";
        return refusal((name.empty() ? "" : "groups." + name + ": ") + place + ": " +
                       endpoint.error().what());
      }
      cluster.names.push_back(endpoint->name());
      cluster.members.push_back(endpoint->member_name(node.name));
      if (endpoint->tls) endpoint->tls = merged(node.tls, options.tls);
      cluster.endpoints.push_back(*std::move(endpoint));
    }
  }
  return clusters;
}

Result<Request> request_of(const Options& options, const LockOptions& asked) {
  if (asked.mode && *asked.mode != LockMode::exclusive && *asked.mode != LockMode::shared) {
    return refusal("mode is " + std::to_string(static_cast<int>(*asked.mode)) +
                   ": it must be LockMode::exclusive or LockMode::shared");
  }
  Request request;
  request.wait = asked.wait.value_or(options.wait);
  // The default is the order of arrival, unless nothing but plain SETs is wanted.
  const WaitOrder usual = options.fencing ? WaitOrder::fifo : WaitOrder::unordered;
  const WaitOrder order = asked.order.value_or(options.order.value_or(usual));
  if (order != WaitOrder::fifo && order != WaitOrder::unordered) {
    return refusal("order is " + std::to_string(static_cast<int>(order)) +
                   ": it must be WaitOrder::fifo or WaitOrder::unordered");
  }
  request.ordered = order == WaitOrder::fifo;
  request.traced = asked.trace.value_or(false);
  core::Terms& terms = request.terms;
  terms.ttl = asked.ttl.value_or(options.ttl);
  // A margin that was chosen for the usual ttl says nothing about a shorter one.
  const std::optional<Duration> usual_margin =
      options.stop_margin && *options.stop_margin < terms.ttl ? options.stop_margin : std::nullopt;
  terms.stop_margin =
      asked.stop_margin.value_or(usual_margin.value_or(core::usual_stop_margin(terms.ttl)));
  terms.max_hold = asked.max_hold.value_or(options.max_hold.value_or(Duration::max()));
  terms.mode = asked.mode.value_or(LockMode::exclusive);
  terms.auto_extend = asked.auto_extend.value_or(options.auto_extend);
  const int renewals = asked.max_renewals.value_or(options.max_renewals.value_or(no_limit));
  terms.max_renewals = renewals == static_cast<int>(no_limit) ? -1 : renewals;

  if (const Result<void> good = check_ttl(options, terms.ttl); !good) return good.error();
  if (asked.stop_margin) {
    if (Result<void> good = check_stop_margin(*asked.stop_margin, terms.ttl); !good) {
      return good.error();
    }
  }
  if (request.wait < Duration::zero()) {
    return refusal("wait is " + to_text(request.wait) +
                   ": it must not be negative; 0s is one attempt");
  }
  if (terms.max_hold <= Duration::zero()) {
    return refusal("max_hold is " + to_text(terms.max_hold) +
                   ": it must be longer than 0s; leave it out to have no limit");
  }
  if (renewals < 0) {
    return refusal("max_renewals is " + std::to_string(renewals) +
                   ": it must not be negative; leave it out to have no limit");
  }
  return request;
}

Result<void> check_resource(const Options& options, std::string_view resource) {
  if (resource.empty()) return refusal("the resource is empty: name what is to be locked");
  if (resource.size() > longest_resource) {
    return refusal("the resource has " + std::to_string(resource.size()) +
                   " bytes: it must have at most " + std::to_string(longest_resource));
  }
  // Does key_prefix + resource start with the reserved prefix? This runs once per acquire, so the
  // two are not concatenated.
  const std::string_view prefix = std::string_view(options.key_prefix).substr(0, reserved.size());
  if (reserved.starts_with(prefix) && resource.starts_with(reserved.substr(prefix.size()))) {
    return refusal("the resource " + detail::quoted(resource) +
                   " would have a key that starts with \"quorumlock:\", where the library keeps "
                   "its own: choose another name");
  }
  return {};
}

Result<void> check_others(const Options& options, const LockOptions& asked,
                          std::string_view resource, const std::vector<std::string>& others) {
  const std::size_t count = 1 + others.size();
  const std::string given = std::to_string(count) + " resources";
  if (count > most_resources) {
    return refusal(given + " are given: at most " + std::to_string(most_resources) +
                   " can be locked at once");
  }
  std::vector<std::string_view> names(others.begin(), others.end());
  names.push_back(resource);
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return refusal("the resource " + detail::quoted(*twice) +
                   " is given twice: name each one once");
  }
  for (const std::string& other : others) {
    if (Result<void> fine = check_resource(options, other); !fine) return fine;
  }
  const LockMode mode = asked.mode.value_or(LockMode::exclusive);
  if (mode != LockMode::exclusive && mode != LockMode::shared) {
    return refusal(given +
                   " are given, and a mode for one resource alone: several can be locked in "
                   "the modes exclusive and shared");
  }
  return {};
}

Result<void> check_capacity(const LockOptions& asked, std::optional<std::ptrdiff_t> capacity) {
  if (!capacity) return {};
  if (*capacity < 1 || *capacity > Semaphore::max_capacity) {
    return refusal("capacity is " + std::to_string(*capacity) + ": a semaphore has 1 to " +
                   std::to_string(Semaphore::max_capacity) + " permits");
  }
  if (asked.mode.value_or(LockMode::exclusive) != LockMode::exclusive) {
    return refusal("mode is not exclusive: a permit is held by one; leave mode out");
  }
  return {};
}

Result<void> check_group_name(std::string_view name) {
  constexpr std::size_t longest_name = 64;
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (plain && !name.empty() && name.size() <= longest_name) return {};
  return refusal("a group is named " + quoted_unless_secret(name) +
                 ": a name has 1 to 64 letters, digits, '.', '_' or '-'");
}

Result<void> check_ttl(const Options& options, std::chrono::nanoseconds ttl) {
  const auto is = [ttl] { return "ttl is " + to_text(ttl); };
  if (ttl <= Duration::zero()) {
    return refusal(is() + ": it must be longer than 0s; 10s is the default");
  }
  if (options.max_ttl && ttl > *options.max_ttl) {
    const std::string most = to_text(*options.max_ttl);
    return refusal(is() + ", above max_ttl, which is " + most + ": ask for at most " + most +
                   ", or raise max_ttl with quorumlock members apply");
  }
  if (ttl > longest_ttl) {
    return refusal(is() + ": it must be at most " + to_text(longest_ttl));
  }
  if (ttl % milliseconds(1) != Duration::zero()) {
    return refusal(is() + ": it must be whole milliseconds, which Redis counts in, such as " +
                   to_text(std::chrono::ceil<milliseconds>(ttl)));
  }
  if (const Duration margin = core::margin(ttl, options.drift_factor); ttl <= margin) {
    return refusal(is() + ", and its margin (ttl x drift_factor + 2ms) is " + to_text(margin) +
                   ": it would never be valid; it must be at least " +
                   to_text(shortest_ttl(options.drift_factor)));
  }
  return {};
}

Result<void> check_stop_margin(Duration margin, Duration ttl) {
  if (margin >= Duration::zero() && margin < ttl) return {};
  return refusal("stop_margin is " + to_text(margin) + ": it must be " +
                 (margin < Duration::zero() ? std::string("0s or longer")
                                            : "shorter than the ttl, which is " + to_text(ttl)));
}

}  // namespace quorumlock::detail
