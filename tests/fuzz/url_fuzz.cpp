#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.hpp"
#include "wire/endpoint.hpp"

// A node's URL. The input is a URL; if it contains a line feed, the part before that is put before
// a planted password, and the part after it after the password.
namespace quorumlock::fuzz {
namespace {

using redis::Endpoint;

/// An accepted URL has a printed form, which means the same and is printed the same.
void check_accepted(const Endpoint& endpoint) {
  const int kinds = (endpoint.host.empty() ? 0 : 1) + (endpoint.path.empty() ? 0 : 1) +
                    (endpoint.sentinels ? 1 : 0);
  require(kinds == 1, "it is not one of a host, a socket, and Sentinels");
  require(endpoint.port >= 1 && endpoint.port <= 65535, "the port is out of range");
  require(endpoint.db >= 0, "the database is negative");
  require(endpoint.path.size() <= 107, "the path is too long for the system");
  const std::string name = endpoint.name();
  const Result<Endpoint> again = Endpoint::parse(name);
  require(again.has_value(), "the printed form is refused: " + name);
  Endpoint expected = endpoint;
  expected.login = {};
  require(*again == expected, "the printed form is another endpoint: " + name);
  require(again->name() == name, "the printed form is printed otherwise: " + name);
}

void check(std::string_view url, bool with_secret) {
  const Result<Endpoint> endpoint = Endpoint::parse(url);
  if (endpoint) {
    check_accepted(*endpoint);
    if (with_secret) require_no_secret(endpoint->name());
  } else {
    require_sentence(endpoint.error().what());
    if (with_secret) require_no_secret(endpoint.error().what());
  }
}

/// Plants the password in its place, and in the places to which a missing part of the URL moves it.
void check_with_secret(std::string_view before, std::string_view after) {
  const std::string secret_text(secret);
  const std::string front(before);
  const std::string back(after);
  check("redis://" + front + ":" + secret_text + "@" + back, true);
  check("rediss://" + front + ":" + secret_text + "@" + back, true);
  check("redis+sentinel://" + front + ":" + secret_text + "@" + back, true);
  check("rediss+sentinel://" + front + ":" + secret_text + "@" + back, true);
  // After a slash the text is a part of a path, in which nobody has a password.
  if (!front.starts_with('/')) check("unix://" + front + ":" + secret_text + "@" + back, true);
  if (!front.starts_with("unix:///")) check(front + secret_text + "@" + back, true);
  check("redis://" + front + ":" + secret_text + back, true);
  // A URL with nothing fuzzed before the password must be accepted, with exactly this password.
  const Result<Endpoint> good = Endpoint::parse("redis://user:" + secret_text + "@host");
  require(good && good->login == redis::Login{"user", std::string(secret)},
          "the password is not kept");
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock::fuzz;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (has_secret(input)) return -1;  // only a planted one is a password
  const std::size_t end = input.find('\n');
  if (end == input.npos) {
    check(input, false);
  } else {
    check_with_secret(input.substr(0, end), input.substr(end + 1));
  }
  return 0;
}
