#include <quorumlock/settings.hpp>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include "config/options_json.hpp"
#include "config/quoted.hpp"
#include "config/refusal.hpp"

namespace quorumlock {
namespace {

using detail::parse_options;
using detail::quoted_unless_secret;
using detail::refusal;
using detail::unreadable;

constexpr std::size_t largest_file = 1024 * 1024;

Result<std::string> read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const auto failed = [](int error) {
    return unreadable(error, "the file cannot be read: " + std::generic_category().message(error));
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file) return failed(errno);
  std::string text(largest_file + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failed(errno);
  if (text.size() > largest_file) return refusal("the file must not be larger than 1 MiB");
  return text;
}

bool names_sentinels(std::string_view url) {
  return url.starts_with("redis+sentinel://") || url.starts_with("rediss+sentinel://");
}

bool has_scheme(std::string_view url) {
  return url.starts_with("redis://") || url.starts_with("rediss://") || url.starts_with("unix://");
}

Result<std::vector<std::string>> split(std::string_view list) {
  if (list.empty()) return refusal("the list is empty: name the nodes' URLs, or do not set it");
  std::vector<std::string> urls;
  for (;;) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    if (names_sentinels(part)) {
      return refusal(
          "a node that is found through Sentinels needs a name, since other Sentinels "
          "may call another service the same: give its URL and its name in a "
          "configuration file");
    }
    urls.emplace_back(part);
    // If the comma belongs to a password, the rest of the password follows it; the error for a bad
    // URL would take that for a host and show it.
    if (urls.size() > 1 && !has_scheme(urls.back())) {
      return refusal("what stands behind comma " + std::to_string(urls.size() - 1) +
                     " must be another URL, redis://host:port or unix:///path, without a space; a "
                     "comma in a password is written %2C");
    }
    if (comma == list.npos) return urls;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<Setting> setting_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  return Setting{variable, value};
}

Result<Options> load_options(const std::optional<Setting>& file,
                             const std::optional<Setting>& nodes) {
  std::string source;
  const auto in_source = [&source](const Error& error) {
    return Error(error.code(), source + ": " + error.what());
  };
  Options options;
  if (file) {
    source = file->source + (file->source.empty() ? "" : " ") + quoted_unless_secret(file->value);
    const Result<std::string> text = read_file(file->value);
    if (!text) return in_source(text.error());
    Result<Options> parsed = parse_options(*text);
    if (!parsed) return in_source(parsed.error());
    options = *std::move(parsed);
  }
  if (nodes) {
    Result<std::vector<std::string>> urls = split(nodes->value);
    if (!urls) return refusal(nodes->source + ": " + urls.error().what());
    options.nodes = *urls;
    options.groups.clear();
    source += (source.empty() ? "" : " with the nodes of ") + nodes->source;
  }
  if (const Result<void> good = options.validate(); !good) return in_source(good.error());
  return options;
}

Result<Options> Options::from_json(std::string_view text) {
  Result<Options> parsed = detail::parse_options(text);
  if (!parsed) return parsed;
  if (const Result<void> good = parsed->validate(); !good) return good.error();
  return parsed;
}

Result<Options> Options::from_file(const std::filesystem::path& path) {
  return load_options(Setting{"", path.string()}, std::nullopt);
}

Result<Options> Options::from_env() {
  const std::optional<Setting> file = setting_from("QUORUMLOCK_CONFIG");
  const std::optional<Setting> nodes = setting_from("QUORUMLOCK_NODES");
  if (!file && !nodes) {
    return Error(Errc::invalid_argument,
                 "neither QUORUMLOCK_CONFIG nor QUORUMLOCK_NODES is set: set the one to the path "
                 "of a JSON file with the options, or the other to the nodes' URLs, separated by "
                 "commas");
  }
  return load_options(file, nodes);
}

}  // namespace quorumlock
