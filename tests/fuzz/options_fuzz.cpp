#include <quorumlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.hpp"
#include "wire/endpoint.hpp"

// The options as JSON. The input is the text, in which the byte 1 stands for a URL with a password:
// as a node, a key, a duration, in the middle of broken JSON.
namespace quorumlock::fuzz {
namespace {

using std::chrono::nanoseconds;

std::string with_secrets(std::string_view input) {
  std::string text;
  for (const char c : input) {
    if (c == 1) {
      text += "redis://user:" + std::string(secret) + "@host";
    } else {
      text += c;
    }
  }
  return text;
}

void check_refusal(const Error& error) {
  require(error.code() == Errc::invalid_argument, "a refusal has another code");
  require_sentence(error.what());
  require_no_secret(error.what());
}

/// Checks that a printed duration can be read again.
void check_duration(nanoseconds duration) {
  require(duration >= nanoseconds::zero(), "a duration is negative");
  const Result<nanoseconds> again = parse_wait("it", to_text(duration));
  require(again && *again == duration, "a duration is not read as it was printed");
}

void check_durations(const Options& options) {
  for (const nanoseconds duration :
       {options.ttl, options.max_ttl.value_or(std::chrono::seconds(30)), options.wait,
        options.node_timeout, options.connect_timeout, options.retry.delay, options.retry.jitter}) {
    check_duration(duration);
  }
  if (options.max_hold) check_duration(*options.max_hold);
  if (options.stop_margin) check_duration(*options.stop_margin);
}

void check_nodes(const Nodes& nodes) {
  require(!nodes.empty() && nodes.size() <= 32, "the number of nodes is wrong");
  for (const NodeOptions& node : nodes) {
    require(redis::Endpoint::parse(node.url).has_value(), "a node's URL cannot be read");
  }
}

void check_valid(const Options& options) {
  require(options.nodes.empty() != options.groups.empty(),
          "there are nodes and groups, or neither");
  if (options.groups.empty()) check_nodes(options.nodes);
  for (const auto& [name, nodes] : options.groups) {
    require(!name.empty() && name.size() <= 64, "a group's name is wrong");
    check_nodes(nodes);
  }
  require(options.loops >= 1 && options.loops <= 64, "the number of loops is wrong");
  require(options.ttl > nanoseconds::zero() &&
              options.ttl <= options.max_ttl.value_or(std::chrono::seconds(30)),
          "a ttl is wrong");
  require(options.drift_factor >= 0 && options.drift_factor < 0.5, "drift_factor is wrong");
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock;
  using namespace quorumlock::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (has_secret(input)) return -1;  // only a planted one is a password
  const std::string text = with_secrets(input);
  const Result<Options> options = Options::from_json(text);
  if (!options) {
    check_refusal(options.error());
    return 0;
  }
  check_durations(*options);
  if (const Result<void> good = options->validate(); !good) {
    check_refusal(good.error());
  } else {
    check_valid(*options);
  }
  return 0;
}
