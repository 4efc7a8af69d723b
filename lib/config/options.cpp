#include <quorumlock/options.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "config/cluster.hpp"
#include "config/quoted.hpp"
#include "config/refusal.hpp"
#include "config/tls.hpp"
#include "lock/types.hpp"
#include "lock/validity.hpp"
#include "wire/endpoint.hpp"

namespace quorumlock {

namespace {

using detail::refusal;
using quorumlock::to_text;
using std::chrono::nanoseconds;

/// The longest duration in the options: a sum of a few of them and the time since boot cannot
/// overflow.
constexpr nanoseconds longest_duration = std::chrono::hours(365 * 24);
constexpr int most_groups = 64;
constexpr int most_loops = 64;
constexpr std::size_t most_classes = 32;
constexpr std::size_t longest_class = 64;

std::string to_text(double number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// The servers that have been named, each with its place in the options.
using Servers = std::map<std::string, std::string>;

Result<void> check_node_name(const std::string& place, const std::string& name) {
  constexpr std::size_t longest_name = 255;
  const bool visible = std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; });
  // A URL with a login would be written to the nodes, where every client could read it.
  const bool login = name.find("://") != name.npos && name.find('@') != name.npos;
  if (login) {
    return refusal(place + ".name is a URL with a login, which every client would see: give a " +
                   "plain name, or leave it out");
  }
  if (visible && name.size() <= longest_name) return {};
  return refusal(place + ".name is " + detail::quoted_unless_secret(name) +
                 ": it must have at most 255 characters, all visible ASCII, and no space");
}

/// Checks the nodes of one quorum, which the options call `name`. O(nodes log nodes).
Result<void> check_nodes(const std::string& name, const Nodes& nodes, Servers& servers) {
  if (nodes.empty()) {
    return refusal(name +
                   " is missing or empty: give the URLs of 1 to 32 nodes, such as "
                   "redis://127.0.0.1:7101");
  }
  if (nodes.size() > static_cast<std::size_t>(core::max_nodes)) {
    return refusal(name + " has " + std::to_string(nodes.size()) +
                   " entries: it must have 1 to 32");
  }
  Servers members;  // the names of this list
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::string place = name + "[" + std::to_string(i) + "]";
    const Result<redis::Endpoint> endpoint = detail::endpoint_of(nodes[i], false);
    if (!endpoint) return refusal(place + ": " + endpoint.error().what());
    if (Result<void> good = check_node_name(place, nodes[i].name); !good) return good;
    if (const int named = redis::database_of(nodes[i].name); named != 0 && named != endpoint->db) {
      return refusal(place + ".name is " + detail::quoted_unless_secret(nodes[i].name) +
                     ", which ends with a database, and the URL selects database " +
                     std::to_string(endpoint->db) + ": leave the database out of the name");
    }
    if (endpoint->sentinels && nodes[i].name.empty()) {
      return refusal(place +
                     " is found through Sentinels, and other Sentinels may call another service " +
                     detail::quoted(endpoint->sentinels->service) +
                     ": give the node a name, in a configuration file, as in {\"url\": "
                     "\"redis+sentinel://...\", \"name\": \"locks-1\"}");
    }
    if (Result<void> good = detail::check_tls(place + ".tls", nodes[i].tls); !good) return good;
    if (!endpoint->tls && nodes[i].tls != TlsOptions()) {
      return refusal(place + " has tls, and its URL is " + endpoint->name() +
                     ": write rediss:// for TLS");
    }
    redis::Endpoint server = *endpoint;
    server.tls.reset();  // a port is one server, with TLS or without
    server.db = 0;       // another database of the same server is not another node
    const auto [found, is_new] = servers.emplace(server.name(), place);
    if (!is_new) {
      return refusal(place + " is the server " + found->first + ", and so is " + found->second +
                     ": name each node once, or it would have two votes");
    }
    const std::string member = endpoint->member_name(nodes[i].name);
    const auto [namesake, is_first] = members.emplace(member, place);
    if (!is_first) {
      const bool has_zone = nodes[i].name.empty() && endpoint->host.find('%') != std::string::npos;
      return refusal(
          place + " is called " + detail::quoted(member) +
          (has_zone ? " (without the interface, which other hosts call differently)" : "") +
          ", and so is " + namesake->second +
          ": each node of a list needs a name of its own, as in {\"url\": "
          "\"redis://...\", \"name\": \"locks-1\"}");
    }
  }
  return {};
}

Result<void> check_all_nodes(const Options& options) {
  Servers servers;
  if (options.groups.empty()) return check_nodes("nodes", options.nodes, servers);
  if (!options.nodes.empty()) {
    return refusal(
        "nodes and groups are both given: give nodes for one quorum, or groups for several");
  }
  if (options.groups.size() > static_cast<std::size_t>(most_groups)) {
    return refusal("groups has " + std::to_string(options.groups.size()) +
                   " entries: it must have 1 to " + std::to_string(most_groups));
  }
  for (const auto& [name, nodes] : options.groups) {
    if (Result<void> good = detail::check_group_name(name); !good) return good;
    if (Result<void> good = check_nodes("groups." + name, nodes, servers); !good) return good;
  }
  return {};
}

/// Checks the options of TLS that apply to all nodes. They are refused if no node uses TLS, since
/// the user would believe that the connections are encrypted.
Result<void> check_tls_of_all(const Options& options) {
  if (Result<void> good = detail::check_tls("tls", options.tls); !good) return good;
  // rediss:// or rediss+sentinel://
  const auto speaks_tls = [](const NodeOptions& node) { return node.url.starts_with("rediss"); };
  const bool used = std::ranges::any_of(options.nodes, speaks_tls) ||
                    std::ranges::any_of(options.groups, [&](const auto& group) {
                      return std::ranges::any_of(group.second, speaks_tls);
                    });
  if (used || options.tls == TlsOptions()) return {};
  return refusal("tls is given, and no node's URL is rediss://: write rediss:// for TLS");
}

Result<void> check_loops(int loops) {
  if (loops >= 1 && loops <= most_loops) return {};
  return refusal("loops is " + std::to_string(loops) + ": it must be 1 to " +
                 std::to_string(most_loops) + "; 1 is the default, and does for most");
}

Result<void> check_span(std::string_view name, nanoseconds value) {
  if (value > nanoseconds::zero() && value <= longest_duration) return {};
  return refusal(std::string(name) + " is " + to_text(value) +
                 ": it must be longer than 0s and at most " + to_text(longest_duration));
}

Result<void> check_span_or_zero(std::string_view name, nanoseconds value) {
  if (value >= nanoseconds::zero() && value <= longest_duration) return {};
  return refusal(std::string(name) + " is " + to_text(value) + ": it must be from 0s to " +
                 to_text(longest_duration));
}

Result<void> check_clocks(const Options& options) {
  if (!(options.drift_factor >= 0 && options.drift_factor < 0.5)) {  // also refuses NaN
    return refusal("drift_factor is " + to_text(options.drift_factor) +
                   ": it must be at least 0 and below 0.5; 0.01 suits ordinary clocks");
  }
  const nanoseconds max_ttl = detail::max_ttl_of(options);
  if (Result<void> good = check_span("max_ttl", max_ttl); !good) return good;
  if (max_ttl % std::chrono::milliseconds(1) != nanoseconds::zero()) {
    return refusal("max_ttl is " + to_text(max_ttl) +
                   ": it must be whole milliseconds, which Redis counts in, such as 30s");
  }
  if (Result<void> good =
          detail::check_memory("fencing_memory", detail::memory_of(options), max_ttl);
      !good) {
    return good;
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

Result<void> check_classes(const std::vector<std::string>& classes) {
  if (classes.size() > most_classes) {
    return refusal("resource_classes has " + std::to_string(classes.size()) +
                   " prefixes: it must have at most " + std::to_string(most_classes));
  }
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string is =
        "resource_classes[" + std::to_string(i) + "] is " + detail::quoted(classes[i]) + ": ";
    if (classes[i].empty() || classes[i].size() > longest_class) {
      return refusal(is + "it must be the beginning of resources' names, of 1 to " +
                     std::to_string(longest_class) + " bytes, such as \"orders:\"");
    }
    if (classes[i] == "other") {
      return refusal(is + "that is the class of all resources that belong to no other: write " +
                     "more or less of the names");
    }
    for (std::size_t before = 0; before < i; ++before) {
      if (!classes[i].starts_with(classes[before])) continue;
      return refusal(is + "no resource would belong to it, since " +
                     detail::quoted(classes[before]) + " comes first: put that one after it");
    }
  }
  return {};
}

}  // namespace

Result<void> detail::check_memory(std::string_view name, nanoseconds memory, nanoseconds max_ttl) {
  if (Result<void> good = check_span(name, memory); !good) return good;
  const std::string is = std::string(name) + " is " + to_text(memory) + ": it must be ";
  if (memory % std::chrono::seconds(1) != nanoseconds::zero()) {
    return refusal(is + "whole seconds, such as 1d");
  }
  if (memory / 4 >= max_ttl) return {};
  return refusal(is + "at least four times max_ttl, which is " + to_text(max_ttl));
}

std::chrono::nanoseconds Options::validity(std::chrono::nanoseconds of_ttl) const {
  return of_ttl - core::margin(of_ttl, drift_factor);
}

Result<void> Options::validate() const {
  if (Result<void> good = check_all_nodes(*this); !good) return good;
  if (Result<void> good = check_tls_of_all(*this); !good) return good;
  if (Result<void> good = check_loops(loops); !good) return good;
  if (Result<void> good = check_clocks(*this); !good) return good;
  if (Result<void> good = check_retry(retry); !good) return good;
  if (Result<void> good = check_classes(resource_classes); !good) return good;
  if (stop_margin) {
    if (Result<void> good = check_span_or_zero("stop_margin", *stop_margin); !good) return good;
    if (Result<void> good = detail::check_stop_margin(*stop_margin, ttl); !good) return good;
  }
  if (key_prefix.starts_with("quorumlock:")) {
    return refusal(
        "key_prefix makes keys that start with \"quorumlock:\", where the library keeps "
        "its own: choose another");
  }
  if (!max_ttl && ttl > detail::max_ttl_of(*this)) {
    return refusal("ttl is " + to_text(ttl) + ", and max_ttl is not given: a ttl above " +
                   to_text(detail::max_ttl_of(*this)) +
                   " needs a max_ttl beside it, which has to be that of the nodes");
  }
  // A request can set the remaining options too; check them as for a request that sets none.
  const Result<detail::Request> request = detail::request_of(*this, LockOptions());
  return request ? Result<void>() : Result<void>(request.error());
}

}  // namespace quorumlock
