#include <quorumlock/options.hpp>

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "client/cluster.hpp"
#include "client/duration_text.hpp"
#include "client/refusal.hpp"
#include "core/types.hpp"
#include "redis/endpoint.hpp"

namespace quorumlock {
namespace {

using client::refusal;
using client::to_text;
using std::chrono::nanoseconds;

/// So that no sum of a few of them and the time since boot can overflow.
constexpr nanoseconds longest = std::chrono::hours(365 * 24);

std::string to_text(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

Result<void> check_nodes(const std::vector<std::string>& nodes) {
  if (nodes.empty()) {
    return refusal(
        "nodes is missing or empty: give the URLs of 1 to 32 nodes, such as "
        "redis://127.0.0.1:7101");
  }
  if (nodes.size() > static_cast<std::size_t>(core::max_nodes)) {
    return refusal("nodes has " + std::to_string(nodes.size()) + " entries: it must have 1 to 32");
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string place = "nodes[" + std::to_string(i) + "]";
    const Result<redis::Endpoint> endpoint = redis::Endpoint::parse(nodes[i]);
    if (!endpoint) return refusal(place + ": " + endpoint.error().what());
    redis::Endpoint server = *endpoint;
    server.db = 0;  // another database of one server is no other node
    names.push_back(server.name());
    for (std::size_t j = 0; j < i; ++j) {
      if (names[j] != names[i]) continue;
      return refusal(place + " is the server " + names[i] + ", and so is nodes[" +
                     std::to_string(j) + "]: name each node once, or it would have two votes");
    }
  }
  return {};
}

Result<void> check_span(std::string_view name, nanoseconds value) {
  if (value > nanoseconds::zero() && value <= longest) return {};
  return refusal(std::string(name) + " is " + to_text(value) +
                 ": it must be longer than 0s and at most " + to_text(longest));
}

Result<void> check_span_or_zero(std::string_view name, nanoseconds value) {
  if (value >= nanoseconds::zero() && value <= longest) return {};
  return refusal(std::string(name) + " is " + to_text(value) + ": it must be from 0s to " +
                 to_text(longest));
}

Result<void> check_clocks(const Options& options) {
  if (!(options.drift_factor >= 0 && options.drift_factor < 0.5)) {  // not a number: neither
    return refusal("drift_factor is " + to_text(options.drift_factor) +
                   ": it must be at least 0 and below 0.5; 0.01 suits ordinary clocks");
  }
  if (Result<void> good = check_span("max_ttl", options.max_ttl); !good) return good;
  if (options.max_ttl % std::chrono::milliseconds(1) != nanoseconds::zero()) {
    return refusal("max_ttl is " + to_text(options.max_ttl) +
                   ": it must be whole milliseconds, which Redis counts in, such as 30s");
  }
  if (Result<void> good = check_span("node_timeout", options.node_timeout); !good) return good;
  return check_span("connect_timeout", options.connect_timeout);
}

Result<void> check_retry(const RetryOptions& retry) {
  if (Result<void> good = check_span_or_zero("retry.delay", retry.delay); !good) return good;
  if (Result<void> good = check_span_or_zero("retry.jitter", retry.jitter); !good) return good;
  if (retry.delay + retry.jitter > nanoseconds::zero()) return {};
  return refusal(
      "retry.delay and retry.jitter are both 0s: without a pause a wait would keep the "
      "nodes busy; 50ms each is the default");
}

}  // namespace

Result<void> Options::validate() const {
  if (Result<void> good = check_nodes(nodes); !good) return good;
  if (Result<void> good = check_clocks(*this); !good) return good;
  if (Result<void> good = check_retry(retry); !good) return good;
  if (stop_margin) {
    if (Result<void> good = check_span_or_zero("stop_margin", *stop_margin); !good) return good;
  }
  if (key_prefix.starts_with("quorumlock:")) {
    return refusal(
        "key_prefix makes keys that start with \"quorumlock:\", where the library keeps "
        "its own: choose another");
  }
  // What is left can also be said by a request: one that says nothing has to be right.
  const Result<client::Request> request = client::request_of(*this, LockOptions());
  return request ? Result<void>() : Result<void>(request.error());
}

}  // namespace quorumlock
