#include <quorumlock/options.hpp>

#include "globals.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "failure.hpp"
#include "log.hpp"

namespace quorumlock::cli {
namespace {

using quorumlock::Setting;
using std::chrono::nanoseconds;

std::optional<Setting> flag_or_variable(const char* flag, const std::optional<std::string>& value,
                                        const char* variable) {
  if (value) return Setting{flag, *value};
  return setting_from(variable);
}

/// Moves the value of a variable to memory of our own, and overwrites it at its first place.
void hide_variable(const std::string& name) {
  char* const shown = std::getenv(name.c_str());
  if (shown == nullptr) return;
  const std::string value = shown;
  ::setenv(name.c_str(), value.c_str(), 1);
  if (std::getenv(name.c_str()) == shown) return;  // it was moved before
  std::fill_n(shown, value.size(), '*');
}

using Parser = Result<nanoseconds> (*)(std::string_view name, std::string_view text);

void add_parsed(CLI::App& app, const std::string& name, std::optional<nanoseconds>& into,
                const std::string& help, Parser parse) {
  app.add_option_function<std::string>(
         name,
         [name, &into, parse](const std::string& text) {
           const Result<nanoseconds> parsed = parse(name, text);
           if (!parsed) throw Failure::usage(parsed.error().what());
           into = *parsed;
         },
         help)
      ->type_name("DURATION");
}

}  // namespace

void Globals::add_flags_to(CLI::App& app) {
  const auto text = [&](const char* name, std::optional<std::string>& into, const char* help) {
    return app.add_option_function<std::string>(
        name, [&into](const std::string& value) { into = value; }, help);
  };
  text("--config", config, "JSON file with the options; also QUORUMLOCK_CONFIG")->type_name("FILE");
  text("--nodes", nodes, "the nodes, separated by commas; also QUORUMLOCK_NODES")
      ->type_name("URL,...");
  app.add_flag("--json", json, "print one JSON document, errors included");
  app.add_flag("--verbose", verbose, "say on standard error what happens");
  app.add_option_function<std::string>(
         "--log-format",
         [](const std::string& value) {
           // Arguments has read the value already, so that a complaint has that format, too.
           if (value == "text" || value == "json") return;
           throw Failure::usage("--log-format is \"" + value + "\": give text or json");
         },
         "standard error as text, or as json: one object a line, with every event")
      ->type_name("FORMAT");
}

Options Globals::options() const {
  const std::optional<Setting> file = flag_or_variable("--config", config, "QUORUMLOCK_CONFIG");
  const std::optional<Setting> urls = flag_or_variable("--nodes", nodes, "QUORUMLOCK_NODES");
  Options options;
  if (file || urls) {
    Result<Options> loaded = load_options(file, urls);
    if (!loaded) throw Failure(loaded.error());
    options = *std::move(loaded);
    hide_passwords(options);
  } else {
    for (int port = 7101; port <= 7105; ++port) {
      options.nodes.push_back("redis://127.0.0.1:" + std::to_string(port));
    }
  }
  if (log_format() == LogFormat::json) {
    options.on_event = log_event;
  } else if (verbose) {
    options.log = [](std::string_view sentence) {
      log_sentence(EventLevel::info, "message", sentence);
    };
  }
  return options;
}

std::optional<std::string> Globals::file_of_nodes() const {
  if (flag_or_variable("--nodes", nodes, "QUORUMLOCK_NODES")) return std::nullopt;
  const std::optional<Setting> file = flag_or_variable("--config", config, "QUORUMLOCK_CONFIG");
  return file ? std::optional(file->value) : std::nullopt;
}

void Globals::note(const std::string& sentence) const {
  if (verbose) log_sentence(EventLevel::info, "message", sentence);
}

void Globals::warn(const std::string& sentence) {
  log_sentence(EventLevel::warning, "message", sentence);
}

void hide_passwords(const Options& options) {
  hide_variable("QUORUMLOCK_NODES");
  const auto hide = [](const Nodes& nodes) {
    for (const NodeOptions& node : nodes) {
      if (!node.password_env.empty()) hide_variable(node.password_env);
    }
  };
  hide(options.nodes);
  for (const auto& [name, nodes] : options.groups) hide(nodes);
}

void add_duration(CLI::App& app, const std::string& name, std::optional<nanoseconds>& into,
                  const std::string& help) {
  add_parsed(app, name, into, help, parse_duration);
}

void add_wait(CLI::App& app, const std::string& name, std::optional<nanoseconds>& into,
              const std::string& help) {
  add_parsed(app, name, into, help, parse_wait);
}

void add_wide(CLI::App& app, bool& into) {
  app.add_flag("--wide", into,
               "all columns and whole names, although the terminal may be too narrow for them");
}

void add_explain(CLI::App& app, bool& into) {
  app.add_flag("--explain", into,
               "write on standard error where the time of the acquisition went: a timeline of its "
               "steps and of each node's answer");
}

Coordinator coordinator_with(Options options) {
  Result<Coordinator> coordinator = Coordinator::create(std::move(options));
  if (!coordinator) throw Failure(coordinator.error());
  return *std::move(coordinator);
}

}  // namespace quorumlock::cli
