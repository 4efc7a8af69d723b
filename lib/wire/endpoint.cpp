#include "wire/endpoint.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <quorumlock/event.hpp>

#include "lock/mutants.hpp"
#include "wire/numbers.hpp"

namespace quorumlock::redis {
namespace {

constexpr std::string_view tcp_scheme = "redis://";
constexpr std::string_view tls_scheme = "rediss://";
constexpr std::string_view unix_scheme = "unix://";
constexpr std::string_view sentinel_scheme = "redis+sentinel://";
constexpr std::string_view tls_sentinel_scheme = "rediss+sentinel://";

constexpr std::string_view decimal_digits = "0123456789";
constexpr std::string_view host_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
constexpr std::string_view address_characters = "0123456789abcdefABCDEF:.";

constexpr int sentinel_port = 26379;
constexpr std::size_t most_sentinels = 16;

constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

bool is_printable(std::string_view url) {
  return printable(url) == url;
}

/// Takes the front of `text` that consists of these characters.
std::string_view take(std::string_view& text, std::string_view characters) {
  const std::string_view front = text.substr(0, text.find_first_not_of(characters));
  text.remove_prefix(front.size());
  return front;
}

/// Takes a host name, or an IPv6 address with its brackets; empty if `text` begins with neither.
std::string_view take_host(std::string_view& text) {
  if (!text.starts_with('[')) return take(text, host_characters);
  std::size_t end = text.find_first_not_of(address_characters, 1);
  if (end != text.npos && text[end] == '%') end = text.find_first_not_of(host_characters, end + 1);
  if (end == text.npos || text[end] != ']') return {};
  const std::string_view front = text.substr(0, end + 1);
  text.remove_prefix(front.size());
  return front;
}

/// Takes a port with its colon, if there is one; false if it is not a number.
bool take_port(std::string_view& text) {
  if (!text.starts_with(':')) return true;
  text.remove_prefix(1);
  const std::size_t length = take(text, decimal_digits).size();
  return length > 0 && length <= 5;
}

bool is_port_and_db(std::string_view text) {
  if (!take_port(text)) return false;
  if (text.starts_with('/')) {
    text.remove_prefix(1);
    take(text, decimal_digits);
  }
  return text.empty();
}

bool names_sentinels(std::string_view url) {
  return url.starts_with(sentinel_scheme) || url.starts_with(tls_sentinel_scheme);
}

/// Whether this is what follows the first host of a redis+sentinel:// URL. Each of its hosts after
/// the first could be a part of a password with a comma, so these have a port.
bool is_rest_of_sentinels(std::string_view text) {
  if (!take_port(text)) return false;
  while (text.starts_with(',')) {
    text.remove_prefix(1);
    const bool port = !take_host(text).empty() && text.starts_with(':');
    if (!port || !take_port(text)) return false;
  }
  if (!text.starts_with('/')) return false;
  text.remove_prefix(1);
  take(text, host_characters);
  return is_port_and_db(text) && !text.starts_with(':');
}

bool is_path_and_db(std::string_view text) {
  const std::size_t query = text.find('?');
  if (query == text.npos) return true;
  text.remove_prefix(query);
  return text.starts_with("?db=") && text.substr(4).find_first_not_of(decimal_digits) == text.npos;
}

/// The URL without anything that is, or could be, a password. In `redis://user:secret` (the host
/// forgotten) the password is in the port's place, so each part is shown only if it is well-formed.
std::string redacted(std::string_view url) {
  std::string shown;
  const std::size_t colon = url.find("://");
  const bool sentinels = names_sentinels(url);
  if (sentinels || (colon <= 16 && url.find_first_not_of(host_characters) == colon)) {
    shown = url.substr(0, colon + 3);
    url.remove_prefix(shown.size());
  }
  const std::size_t at = url.rfind('@');
  if (at != url.npos) {
    shown += "***@";
    url.remove_prefix(at + 1);
  } else if (shown == unix_scheme && is_printable(url) &&
             (url.starts_with('/') || url.find(':') == url.npos)) {
    return shown.append(is_path_and_db(url) ? url : url.substr(0, url.find('?') + 1))
        .append(is_path_and_db(url) ? "" : "***");
  }
  shown += take_host(url);
  return shown.append((sentinels ? is_rest_of_sentinels(url) : is_port_and_db(url)) ? url : "***");
}

Error refusal(std::string_view url, std::string_view why) {
  return {Errc::invalid_argument, '"' + redacted(url) + "\" " + std::string(why)};
}

std::optional<int> number(std::string_view text, int least, int most) {
  const std::optional<int> value = whole_number<int>(text);
  return value && *value >= least && *value <= most ? value : std::nullopt;
}

std::optional<int> db_number(std::string_view text) {
  return number(text, 0, std::numeric_limits<int>::max());
}

constexpr std::string_view bad_db =
    "has a bad database: it must be a number from 0 to 2147483647, as in redis://host:6379/3 or "
    "unix:///run/redis.sock?db=3";

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view hex = text.substr(i + 1, 2);
    unsigned char byte = 0;
    const auto [stop, error] = std::from_chars(hex.data(), hex.data() + hex.size(), byte, 16);
    if (error != std::errc() || stop != hex.data() + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

/// The normal form of an address or a name; spellings of one name differ only in case.
std::optional<std::string> normal_host(std::string_view host) {
  if (!host.starts_with('[')) {
    std::string name(host);
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return name;
  }
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  host = host.substr(1, host.size() - 2);
  const std::size_t mark = host.find('%');
  const std::string bare(host.substr(0, mark));
  if (::inet_pton(AF_INET6, bare.c_str(), &address) != 1) return std::nullopt;
  std::string normal = ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  // A link-local address is one on each of the machine's networks, so it has a zone.
  const bool has_zone = mark != host.npos;
  if (has_zone != IN6_IS_ADDR_LINKLOCAL(&address)) return std::nullopt;
  if (!has_zone) return normal;
  std::string_view zone = host.substr(mark + 1);
  if (zone.starts_with("25") && zone.size() > 2) zone.remove_prefix(2);  // RFC 6874: "%25eth0"
  if (zone.empty()) return std::nullopt;
  return normal.append("%").append(zone);
}

Result<Endpoint> parse_unix(std::string_view url) {
  Endpoint endpoint;
  std::string_view rest = url.substr(unix_scheme.size());
  const std::size_t mark = rest.find('?');
  endpoint.path = rest.substr(0, mark);
  if (!endpoint.path.starts_with('/') || endpoint.path.ends_with('/')) {
    return refusal(url, "names no socket: write an absolute path, as in unix:///run/redis.sock");
  }
  const auto is_slash_twice = [](char a, char b) { return a == '/' && b == '/'; };
  endpoint.path.erase(std::unique(endpoint.path.begin(), endpoint.path.end(), is_slash_twice),
                      endpoint.path.end());
  if (endpoint.path.size() > longest_path) {
    return refusal(url, "has a path of " + std::to_string(endpoint.path.size()) +
                            " bytes: the system permits at most " + std::to_string(longest_path) +
                            " for a socket");
  }
  if (mark == rest.npos) return endpoint;

  rest.remove_prefix(mark + 1);
  if (!rest.starts_with("db=")) {
    return refusal(url, "has an unknown query: only ?db=N may follow the path");
  }
  const std::optional<int> db = db_number(rest.substr(3));
  if (!db) return refusal(url, bad_db);
  endpoint.db = *db;
  return endpoint;
}

std::optional<Error> read_credentials(std::string_view url, std::string_view text, Endpoint& into) {
  const std::size_t colon = text.find(':');
  const std::optional<std::string> user = percent_decoded(text.substr(0, colon));
  std::optional<std::string> password = "";
  if (colon != text.npos) password = percent_decoded(text.substr(colon + 1));
  if (!user || !password) {
    return refusal(url,
                   "has a bad percent escape in its user or password: two hexadecimal digits must "
                   "follow each %, and a % itself is written %25");
  }
  if (password->empty() && (user->empty() || colon != text.npos)) {
    return refusal(url,
                   "has an empty password: write redis://user:password@host, "
                   "redis://:password@host, redis://user@host or redis://host");
  }
  into.login = {*user, *std::move(password)};
  return std::nullopt;
}

/// Takes user and password with their '@' from the front, if there are any.
std::optional<Error> take_credentials(std::string_view url, std::string_view& rest,
                                      Endpoint& into) {
  const std::size_t at = rest.rfind('@');
  if (at == rest.npos) return std::nullopt;
  const std::string_view credentials = rest.substr(0, at);
  if (credentials.find_first_of("/?#@") != credentials.npos) {
    return refusal(url,
                   "has a '/', '?', '#' or '@' in its user or password: write it as %2F, %3F, "
                   "%23 or %40");
  }
  rest.remove_prefix(at + 1);
  return read_credentials(url, credentials, into);
}

/// Takes host[:port] from the front.
std::optional<Error> take_address(std::string_view url, std::string_view& rest, HostPort& into) {
  const std::string_view host = take_host(rest);
  if (host.empty() && rest.starts_with('[')) {
    return refusal(url, "has a bad IPv6 address: write it as in redis://[::1]:6379");
  }
  if (host.empty() && std::ranges::count(rest.substr(0, rest.find_first_of(",/?#")), ':') > 1) {
    return refusal(url, "has an IPv6 address without brackets: write it as in redis://[::1]:6379");
  }
  if (host.empty()) return refusal(url, "names no host: write redis://host:port");
  const std::optional<std::string> normal = normal_host(host);
  if (!normal) {
    return refusal(
        url,
        "has a bad IPv6 address: write it as in redis://[::1]:6379, and a link-local one "
        "with its interface, as in redis://[fe80::1%eth0]:6379");
  }
  into.host = *normal;
  if (!rest.starts_with(':')) return std::nullopt;
  rest.remove_prefix(1);
  const std::string_view text = rest.substr(0, rest.find_first_of(",/?#"));
  const std::optional<int> port = number(text, 1, 65535);
  if (!port) {
    return refusal(url,
                   "has a bad port: it must be a number from 1 to 65535, and an IPv6 address "
                   "stands in brackets");
  }
  into.port = *port;
  rest.remove_prefix(text.size());
  return std::nullopt;
}

Result<Endpoint> parse_tcp(std::string_view url) {
  Endpoint endpoint;
  const bool secure = url.starts_with(tls_scheme);
  if (secure) endpoint.tls.emplace();
  std::string_view rest = url.substr((secure ? tls_scheme : tcp_scheme).size());
  if (std::optional<Error> error = take_credentials(url, rest, endpoint)) return *error;
  HostPort address;
  if (std::optional<Error> error = take_address(url, rest, address)) return *error;
  endpoint.host = std::move(address.host);
  endpoint.port = address.port;
  if (rest.empty() || rest == "/") return endpoint;
  if (!rest.starts_with('/')) {
    return refusal(url,
                   "has something behind its host that cannot be read: write "
                   "redis://host:port or redis://host:port/db");
  }
  const std::optional<int> db = db_number(rest.substr(1));
  if (!db) return refusal(url, bad_db);
  endpoint.db = *db;
  return endpoint;
}

Result<Endpoint> parse_sentinels(std::string_view url) {
  Endpoint endpoint;
  Sentinels& found = endpoint.sentinels.emplace();
  const bool secure = url.starts_with(tls_sentinel_scheme);
  if (secure) endpoint.tls.emplace();
  std::string_view rest = url.substr((secure ? tls_sentinel_scheme : sentinel_scheme).size());
  if (std::optional<Error> error = take_credentials(url, rest, endpoint)) return *error;
  for (;;) {
    HostPort address{.port = sentinel_port};
    if (std::optional<Error> error = take_address(url, rest, address)) return *error;
    found.addresses.push_back(std::move(address));
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
  }
  std::ranges::sort(found.addresses);
  if (std::ranges::adjacent_find(found.addresses) != found.addresses.end()) {
    return refusal(url, "names a Sentinel twice: name each once, or it would be two of a majority");
  }
  if (found.addresses.size() > most_sentinels) {
    return refusal(url, "names " + std::to_string(found.addresses.size()) + " Sentinels: at most " +
                            std::to_string(most_sentinels) + " are asked");
  }
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    found.service = take(rest, host_characters);
  }
  if (found.service.empty()) {
    return refusal(url,
                   "does not say what the Sentinels call the service: write "
                   "redis+sentinel://host:port,host:port/service");
  }
  if (rest.empty()) return endpoint;
  const std::optional<int> db = rest.starts_with('/') ? db_number(rest.substr(1)) : std::nullopt;
  if (!db) {
    return refusal(url,
                   "has something behind its service that is no database: write "
                   "redis+sentinel://host:port/service or redis+sentinel://host:port/service/db");
  }
  endpoint.db = *db;
  return endpoint;
}

}  // namespace

std::string HostPort::text() const {
  const bool brackets = host.find(':') != host.npos;
  return (brackets ? '[' + host + "]" : host) + ":" + std::to_string(port);
}

std::string Endpoint::name() const {
  if (!path.empty()) return std::string(unix_scheme) + member_name();
  std::string text(tls ? tls_scheme : tcp_scheme);
  if (sentinels) {
    text = tls ? tls_sentinel_scheme : sentinel_scheme;
    for (const HostPort& address : sentinels->addresses) text += address.text() + ',';
    text.back() = '/';
    return text + member_name();
  }
  return text + member_name(HostPort{host, port}.text());
}

std::string Endpoint::member_name(std::string_view given) const {
  std::string name(given);
  if (name.empty()) name = sentinels ? sentinels->service : path;
  // Each host calls its interfaces as it likes, and all clients call a node the same.
  if (name.empty()) name = HostPort{host.substr(0, host.find('%')), port}.text();
  if (database_of(name) == db || planted(core::Mutant::names_without_a_database)) return name;
  return name.append(database_mark(name)).append(std::to_string(db));
}

Result<Endpoint> Endpoint::parse(std::string_view url) {
  if (!is_printable(url)) {
    return refusal(url,
                   "has a control character (a line's end, perhaps) in it, or a byte that is not "
                   "UTF-8: remove it");
  }
  if (QUORUMLOCK_WITH_TLS == 0 &&
      (url.starts_with(tls_scheme) || url.starts_with(tls_sentinel_scheme))) {
    return refusal(url,
                   "wants TLS, and this quorumlock is built without TLS: use redis:// over a "
                   "network that you trust, or through a tunnel");
  }
  if (url.starts_with(tcp_scheme) || url.starts_with(tls_scheme)) return parse_tcp(url);
  if (url.starts_with(unix_scheme)) return parse_unix(url);
  if (names_sentinels(url)) return parse_sentinels(url);
  return refusal(url,
                 "is not a node's URL: write redis://[user[:password]@]host[:port][/db], "
                 "rediss:// for TLS, unix:///path[?db=N], or redis+sentinel://host:port/service");
}

}  // namespace quorumlock::redis
