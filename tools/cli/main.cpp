#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <quorumlock/event.hpp>
#include <quorumlock/version.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "arguments.hpp"
#include "commands.hpp"
#include "did_you_mean.hpp"
#include "globals.hpp"
#include "log.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace quorumlock::cli {
namespace {

constexpr const char* about =
    "Locks on a quorum of independent Redis nodes.\n"
    "Nodes come from --nodes, QUORUMLOCK_NODES, or the file that --config or\n"
    "QUORUMLOCK_CONFIG names, in this order; else they are redis://127.0.0.1:7101\n"
    "to :7105.";

constexpr const char* exit_codes =
    "Exit codes: 0 done; 1 doctor found something, or something on this machine\n"
    "failed; 64 usage or configuration; 69 no quorum of nodes; 75 held by another,\n"
    "waited in vain, or not held; 76 the lock was lost while the command ran;\n"
    "128 + N ended by signal N. Durations: 500ms, 10s, 5m.";

/// Opens the standard descriptors that were closed at our start: otherwise a node's connection
/// could get such a number, and our output. Writing to standard output still fails, since whoever
/// closed it would not get a token, for example.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    (void)::open("/dev/null", (fd == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
  }
}

/// Throws Failure if there is no such command.
void check_command(const CLI::App& app, const std::string& command) {
  std::string names;
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (one->get_name() == command) return;
    names += (names.empty() ? "" : ", ") + one->get_name();
  }
  if (command.empty()) throw Failure::usage("no command given: give one of " + names);
  // A word that looks like a part of a URL may have a password, and its flag is missing.
  if (command.find_first_of(":/@") != command.npos) {
    throw Failure::usage("the command is missing, and in its place is what may be a URL, which " +
                         std::string("--nodes takes: give one of ") + names);
  }
  const std::string meant = did_you_mean(command, app);
  throw Failure::usage("there is no command " + command +
                       (meant.empty() ? ": give one of " + names : meant));
}

/// Throws Failure if one of the words that the parser could not place is nearly an option, or a
/// command below the one that was given; only the options are looked at if `options`.
void check_words(const CLI::App& app, bool options) {
  const CLI::App* given = &app;
  std::string path = "quorumlock";
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().front();
    path += " " + given->get_name();
  }
  for (const std::string& word : app.remaining(true)) {
    if (options && !word.starts_with('-')) continue;
    const std::string name = word.substr(0, word.find('='));
    if (name.starts_with('-') && given->get_option_no_throw(name) != nullptr) {
      throw Failure::usage(name + " stands before its command: give it after " + path);
    }
    const std::string meant = did_you_mean(name, *given);
    if (meant.empty()) continue;
    throw Failure::usage(path + " has no " + (name.starts_with('-') ? "option " : "command ") +
                         name + meant);
  }
}

/// Breaks the text of --help as the terminal needs it: its paragraphs have been broken for no width
/// in particular.
std::string for_screen(const std::string& help, const Screen& screen) {
  if (screen.width == unlimited) return help;
  std::istringstream lines(help);
  std::string text;
  bool in_paragraph = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_prose =
        !line.empty() && line.front() != ' ' && !line.starts_with("Usage:") && line.back() != ':';
    text += in_paragraph && is_prose ? ' ' : '\n';
    text += line;
    in_paragraph = is_prose;
  }
  return wrapped(text.substr(1), screen.width, 0);
}

int parse_and_run(const Arguments& arguments, Globals& globals) {
  CLI::App app(about, "quorumlock");
  app.set_version_flag("--version", "quorumlock " QUORUMLOCK_VERSION);
  app.footer(exit_codes);
  app.require_subcommand(1);
  globals.behind_dashes = arguments.behind_dashes;
  globals.add_flags_to(app);
  Action chosen;
  add_run(app, globals, chosen);
  add_leader(app, globals, chosen);
  add_observe(app, globals, chosen);
  add_acquire(app, globals, chosen);
  add_extend(app, globals, chosen);
  add_release(app, globals, chosen);
  add_inspect(app, globals, chosen);
  add_locks(app, globals, chosen);
  add_status(app, globals, chosen);
  add_doctor(app, globals, chosen);
  add_enroll(app, globals, chosen);
  add_members(app, globals, chosen);
#if QUORUMLOCK_WITH_SERVE
  add_serve(app, globals, chosen);
#endif
  add_cluster(app, globals, chosen);
  add_bench(app, globals, chosen);
  std::vector<std::string> words(arguments.own.rbegin(), arguments.own.rend());
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& asked) {  // --help and the like
    std::ostringstream text;
    const int code = app.exit(asked, text, text);
    std::string shown = text.str();
    while (shown.ends_with('\n')) shown.pop_back();
    print(for_screen(shown, Screen::of_output()));
    return code;
  } catch (const CLI::Error& error) {
    check_words(app, true);  // the value of a misspelt option may have been taken for the command
    check_command(app, arguments.command);
    check_words(app, false);
    throw Failure::usage(std::string(error.what()) + ": see quorumlock " + arguments.command +
                         " --help");
  }
  return chosen();
}

/// What to do where fewer than a quorum of nodes answered, unless the sentence says it itself.
const char* next_step(const Failure& failure, const std::string& sentence) {
  const bool says_it = sentence.find("quorumlock ") != sentence.npos;
  return failure.exit_code() == ExitCode::no_quorum && !says_it ? "; see quorumlock doctor" : "";
}

int report(const Failure& failure, const Arguments& arguments) {
  // `run` and `leader` leave standard output to their command.
  std::FILE* const to = arguments.json && !arguments.runs_a_command() ? stdout : stderr;
  const std::string sentence = printable(arguments.without_secrets(failure.what()));
  try {
    if (arguments.json) {
      Json document = error_json(failure);
      document["error"]["message"] = sentence;
      print(document, to);
    } else if (arguments.json_log) {
      log_sentence(EventLevel::error, failure.code(), sentence);
    } else {
      const std::string line = "quorumlock: " + sentence + next_step(failure, sentence);
      print(wrapped(line, Screen::of(STDERR_FILENO).width), to);
    }
    if (!arguments.json) print_timeline(failure.outcome());
  } catch (const Failure&) {
    // Where standard output takes nothing, standard error may; the exit code reports the failure.
    if (to == stdout) std::fprintf(stderr, "quorumlock: %s\n", sentence.c_str());
  }
  return failure.exit_code();
}

}  // namespace
}  // namespace quorumlock::cli

int main(int argc, char** argv) {
  using namespace quorumlock::cli;
  fill_standard_descriptors();
  ignore_broken_pipes();
  try {
    const Arguments arguments(argc, argv);
    Globals globals;
    if (arguments.json_log) set_log_format(LogFormat::json);
    try {
      return parse_and_run(arguments, globals);
    } catch (const Failure& failure) {
      return report(failure, arguments);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return report(Failure::local(error.what()), arguments);
    }
  } catch (const std::bad_alloc&) {  // there is none for a report either
    constexpr std::string_view sentence = "quorumlock: there is no memory left\n";
    (void)!::write(STDERR_FILENO, sentence.data(), sentence.size());
    return ExitCode::failed;
  }
}
