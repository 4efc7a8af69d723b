#include <quorumlock/options.hpp>

#include "config/options_json.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "config/cluster.hpp"
#include "config/quoted.hpp"
#include "config/refusal.hpp"

namespace quorumlock::detail {
namespace {

using Json = nlohmann::json;

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_string()) return quoted_unless_secret(value.get_ref<const std::string&>());
  return value.dump();
}

Error wrong(std::string_view name, const Json& value, std::string_view right) {
  return refusal(std::string(name) + " is " + shown(value) + ": it must be " + std::string(right));
}

// There is one read() for each type that an option can have.

Result<void> read(std::string_view name, const Json& value, bool& into) {
  if (!value.is_boolean()) return wrong(name, value, "true or false");
  into = value.get<bool>();
  return {};
}

Result<void> read(std::string_view name, const Json& value, int& into) {
  constexpr int most = std::numeric_limits<int>::max();
  // The parser returns a number without a minus sign as unsigned.
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{most}) {
    return wrong(name, value, "a whole number from 0 to " + std::to_string(most));
  }
  into = value.get<int>();
  return {};
}

Result<void> read(std::string_view name, const Json& value, double& into) {
  if (!value.is_number()) return wrong(name, value, "a number, such as 0.01");
  into = value.get<double>();
  return {};
}

Result<void> read(std::string_view name, const Json& value, std::string& into) {
  if (!value.is_string()) return wrong(name, value, "a string");
  into = value.get<std::string>();
  return {};
}

Result<void> read(std::string_view name, const Json& value, NodeOptions& into);
Result<void> read(std::string_view name, const Json& value, TlsOptions& into);

template <class Each>
Result<void> read_all(std::string_view name, const Json& value, std::vector<Each>& into,
                      std::string_view wanted) {
  if (!value.is_array()) return wrong(name, value, wanted);
  into.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
    if (Result<void> good = read(place, value[i], into[i]); !good) return good;
  }
  return {};
}

Result<void> read(std::string_view name, const Json& value, Nodes& into) {
  return read_all(name, value, into, "an array of URLs, such as [\"redis://127.0.0.1:7101\"]");
}

Result<void> read(std::string_view name, const Json& value, std::map<std::string, Nodes>& into) {
  if (value.is_object() && value.empty()) {
    return refusal(std::string(name) +
                   " is an object without any group: it must name one or more, " +
                   "such as {\"north\": [\"redis://127.0.0.1:7101\"]}");
  }
  if (!value.is_object()) {
    return wrong(name, value,
                 "an object of named groups, such as {\"north\": [\"redis://127.0.0.1:7101\"]}");
  }
  for (const auto& [group, nodes] : value.items()) {
    if (Result<void> good = check_group_name(group); !good) return good;
    const std::string place = std::string(name) + "." + group;
    if (Result<void> good = read(place, nodes, into[group]); !good) return good;
  }
  return {};
}

template <auto parse>
Result<void> read_duration(std::string_view name, const Json& value,
                           std::chrono::nanoseconds& into) {
  if (!value.is_string()) {
    return wrong(name, value,
                 "a string with a number and a unit (us, ms, s, m, h, d), such as \"10s\"");
  }
  const Result<std::chrono::nanoseconds> parsed = parse(name, value.get_ref<const std::string&>());
  if (!parsed) return parsed.error();
  into = *parsed;
  return {};
}

Result<void> read(std::string_view name, const Json& value, std::chrono::nanoseconds& into) {
  return read_duration<parse_duration>(name, value, into);
}

Result<void> read_wait(std::string_view name, const Json& value, Options& into) {
  return read_duration<parse_wait>(name, value, into.wait);
}

Result<void> read(std::string_view name, const Json& value, WaitOrder& into) {
  if (value == "fifo") {
    into = WaitOrder::fifo;
  } else if (value == "unordered") {
    into = WaitOrder::unordered;
  } else {
    return wrong(name, value, "\"fifo\" or \"unordered\"");
  }
  return {};
}

Result<void> read(std::string_view name, const Json& value, TlsVersion& into) {
  if (value == "1.2") {
    into = TlsVersion::tls_1_2;
  } else if (value == "1.3") {
    into = TlsVersion::tls_1_3;
  } else {
    return wrong(name, value, "\"1.2\" or \"1.3\"");
  }
  return {};
}

Result<void> read(std::string_view name, const Json& value, std::vector<std::string>& into) {
  return read_all(name, value, into, "an array of strings, such as [\"orders:\"]");
}

template <class T>
Result<void> read(std::string_view name, const Json& value, std::optional<T>& into) {
  return read(name, value, into.emplace());
}

// Each object is read by a table of its keys.

template <class Object>
struct Field {
  std::string_view key;
  Result<void> (*read)(std::string_view name, const Json& value, Object& into);
};

template <auto member, class Object>
Result<void> read_member(std::string_view name, const Json& value, Object& into) {
  return read(name, value, into.*member);
}

/// The edit distance (Levenshtein): how many letters to insert, delete or replace to turn one text
/// into the other. O(a.size() * b.size()).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row[b.size()];
}

template <class Object>
Error unknown_key(const std::string& prefix, std::string_view key,
                  std::span<const Field<Object>> fields) {
  std::string all;
  std::string_view nearest;
  std::size_t least = 3;  // three wrong letters make another word
  for (const Field<Object>& field : fields) {
    all += (all.empty() ? "" : ", ") + prefix + std::string(field.key);
    if (key.size() > 2 * field.key.size()) continue;  // do not compare a long text
    if (const std::size_t far = distance(key, field.key); far < least) {
      least = far;
      nearest = field.key;
    }
  }
  const std::string is =
      "the key " + quoted_unless_secret(prefix + std::string(key)) + " is unknown: ";
  if (nearest.empty()) return refusal(is + "it must be one of " + all);
  return refusal(is + "did you mean \"" + prefix + std::string(nearest) + "\"?");
}

/// Reads the members of an object. Errors show `prefix` in front of the keys.
template <class Object>
Result<void> read_object(const std::string& prefix, const Json& value,
                         std::span<const Field<Object>> fields, Object& into) {
  for (const auto& [key, member] : value.items()) {
    const auto field = std::ranges::find(fields, key, &Field<Object>::key);
    if (field == fields.end()) return unknown_key(prefix, key, fields);
    if (Result<void> good = field->read(prefix + key, member, into); !good) return good;
  }
  return {};
}

Result<void> read(std::string_view name, const Json& value, TlsOptions& into) {
  static constexpr Field<TlsOptions> fields[] = {
      {"ca_file", read_member<&TlsOptions::ca_file>},
      {"ca_dir", read_member<&TlsOptions::ca_dir>},
      {"cert_file", read_member<&TlsOptions::cert_file>},
      {"key_file", read_member<&TlsOptions::key_file>},
      {"server_name", read_member<&TlsOptions::server_name>},
      {"min_version", read_member<&TlsOptions::min_version>},
      {"unsafe_skip_verify", read_member<&TlsOptions::unsafe_skip_verify>},
  };
  if (!value.is_object()) {
    return wrong(name, value, "an object, such as {\"ca_file\": \"/etc/quorumlock/ca.pem\"}");
  }
  return read_object<TlsOptions>(std::string(name) + ".", value, fields, into);
}

Result<void> read(std::string_view name, const Json& value, NodeOptions& into) {
  static constexpr Field<NodeOptions> fields[] = {
      {"url", read_member<&NodeOptions::url>},
      {"name", read_member<&NodeOptions::name>},
      {"tls", read_member<&NodeOptions::tls>},
      {"user", read_member<&NodeOptions::user>},
      {"password_file", read_member<&NodeOptions::password_file>},
      {"password_env", read_member<&NodeOptions::password_env>},
  };
  if (!value.is_object()) return read(name, value, into.url);
  if (!value.contains("url")) {
    return refusal(std::string(name) +
                   " is an object without a url: it must have one, such as {\"url\": "
                   "\"redis://10.0.0.7:6379\", \"name\": \"seven\"}");
  }
  return read_object<NodeOptions>(std::string(name) + ".", value, fields, into);
}

Result<void> read_retry(std::string_view name, const Json& value, Options& into) {
  static constexpr Field<RetryOptions> fields[] = {
      {"delay", read_member<&RetryOptions::delay>},
      {"jitter", read_member<&RetryOptions::jitter>},
  };
  if (!value.is_object()) {
    return wrong(name, value, "an object, such as {\"delay\": \"50ms\", \"jitter\": \"50ms\"}");
  }
  return read_object<RetryOptions>(std::string(name) + ".", value, fields, into.retry);
}

constexpr Field<Options> option_fields[] = {
    {"nodes", read_member<&Options::nodes>},
    {"groups", read_member<&Options::groups>},
    {"loops", read_member<&Options::loops>},
    {"ttl", read_member<&Options::ttl>},
    {"max_ttl", read_member<&Options::max_ttl>},
    {"wait", read_wait},
    {"order", read_member<&Options::order>},
    {"auto_extend", read_member<&Options::auto_extend>},
    {"max_hold", read_member<&Options::max_hold>},
    {"max_renewals", read_member<&Options::max_renewals>},
    {"stop_margin", read_member<&Options::stop_margin>},
    {"node_timeout", read_member<&Options::node_timeout>},
    {"connect_timeout", read_member<&Options::connect_timeout>},
    {"drift_factor", read_member<&Options::drift_factor>},
    {"retry", read_retry},
    {"fencing", read_member<&Options::fencing>},
    {"fencing_memory", read_member<&Options::fencing_memory>},
    {"key_prefix", read_member<&Options::key_prefix>},
    {"label", read_member<&Options::label>},
    {"tls", read_member<&Options::tls>},
    {"resource_classes", read_member<&Options::resource_classes>},
};

/// Reports the line, column and reason of a syntax error. The parser's message quotes the offending
/// token last, after "last read"; that part is cut off, because the token may be a URL with a
/// password.
Error malformed(std::string_view json, const Json::parse_error& error) {
  const std::string_view before = json.substr(0, error.byte);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1);  // npos + 1 is 0

  std::string_view why = error.what();
  const std::size_t begin = why.find(" - ");
  // Newer versions of the parser give no reason for an empty document.
  why = begin == why.npos ? "unexpected end of input" : why.substr(begin + 3);
  why = why.substr(0, why.find("; last read"));
  std::string sentence = "the options are not valid JSON: line " + std::to_string(line) +
                         ", column " + std::to_string(std::max<std::size_t>(column, 1)) + ": " +
                         std::string(why);
  // The parser says that it expected the end although another member would be right too.
  if (why.ends_with("expected '}'") || why.ends_with("expected ']'")) {
    sentence.insert(sentence.size() - 3, "',' or ");
  }
  return refusal(std::move(sentence));
}

}  // namespace

Result<Options> parse_options(std::string_view json) {
  // If a key occurs twice, the parser lets the last one win; here it is an error.
  std::vector<std::set<std::string>> open_objects;
  std::optional<std::string> twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key && !twice) {
      const std::string& key = parsed.get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) twice = key;
    }
    return true;
  };

  Json value;
  try {
    value = Json::parse(json, watch);
  } catch (const Json::parse_error& error) {
    return malformed(json, error);
  } catch (const Json::exception&) {
    return refusal("the options have a number in them that is too large to be read");
  }
  if (twice) {
    return refusal("the key " + quoted_unless_secret(*twice) +
                   " stands twice in the same object: it must stand there once");
  }
  if (!value.is_object()) {
    return wrong("the whole of the options", value,
                 "an object, such as {\"nodes\": [\"redis://127.0.0.1:7101\"]}");
  }
  if (value.contains("quarantine")) {
    return refusal(
        "the key \"quarantine\" is gone, with all its values: leave it out. There is one policy: a "
        "node that was restarted, failed over or lost its record casts no vote until max_ttl and "
        "the drift margin have passed");
  }
  if (value.contains("wake")) {
    return refusal(
        "the key \"wake\" is gone: leave it out. A release sends a message only if somebody waits "
        "in the line");
  }
  Options options;
  if (const Result<void> good = read_object<Options>("", value, option_fields, options); !good) {
    return good.error();
  }
  return options;
}

}  // namespace quorumlock::detail
