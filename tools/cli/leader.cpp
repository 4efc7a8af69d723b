#include <CLI/CLI.hpp>

#include <quorumlock/election.hpp>
#include <quorumlock/options.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "held_command.hpp"
#include "log.hpp"
#include "nodes_watch.hpp"
#include "notifier.hpp"
#include "output.hpp"
#include "wait_report.hpp"
#include "waiting.hpp"

namespace quorumlock::cli {
namespace {

using quorumlock::to_text;
using std::chrono::milliseconds;

struct LeaderArguments : CommandArguments {
  std::optional<std::string> value;
  std::string resource;
};

/// One candidate of the election, which campaigns again and again.
class Candidate {
 public:
  Candidate(const Globals& globals, const LeaderArguments& asked)
      : globals_(globals),
        resource_(asked.resource),
        options_(options_for(globals, asked)),
        value_(asked.value.value_or(*options_.label)),
        command_(options_, asked),
        coordinator_(coordinator_with(options_)),
        nodes_(globals, options_, coordinator_),
        election_(coordinator_, asked.resource, {.ttl = asked.ttl, .auto_extend = true}) {}

  /// Leads, as often as it is elected, until the command ends by itself or a signal asks us to end.
  int run() {
    manager_.ready("campaigning for " + resource_);
    for (;;) {
      Leadership leads = campaign();
      report("leading",
             resource_ + " is led by this process, fencing token " +
                 std::to_string(leads.fencing_token()),
             {{"fencing_token", leads.fencing_token()}});
      const std::optional<CommandEnd> end = lead(leads);
      if (end && (!end->lost || end->asked != 0)) return conclude(leads, *end);
      const std::string after = end ? " after " + text_of(end->held) : " at once";
      report("lost", "the leadership of " + resource_ + " was lost" + after + ": campaigning again",
             {{"led_ms", end ? rounded(end->held).count() : 0}});
      manager_.status("campaigning for " + resource_ + " again");
    }
  }

 private:
  static Options options_for(const Globals& globals, const LeaderArguments& asked) {
    Options options = globals.options();
    options.label = label_with(options, asked.words.front());
    return options;
  }
  static milliseconds rounded(std::chrono::nanoseconds span) {
    return std::chrono::floor<milliseconds>(span);
  }
  static std::string text_of(std::chrono::nanoseconds span) { return to_text(rounded(span)); }

  Leadership campaign() {
    WaitReport waits(coordinator_, {resource_}, false, "the leadership of " + resource_);
    const auto start = [this](std::stop_token stop, auto handler) {
      election_.async_campaign(value_, std::move(stop), std::move(handler));
    };
    Awaited<Leadership> awaited = await<Leadership>(
        signals_, start,
        [&] { return sooner(manager_.keep_alive(), globals_.json ? -1 : waits.advance()); },
        &nodes_);
    if (awaited.asked != 0) {
      if (awaited.result) (void)resigned(*awaited.result);
      manager_.stopping("asked to end");
      throw Failure::interrupted(awaited.asked,
                                 "while campaigning for " + resource_ + ": it does not lead");
    }
    if (!awaited.result) throw Failure(awaited.result.error());
    return *std::move(awaited.result);
  }

  /// Returns how the command ended; nothing if the leadership was over before it was started.
  std::optional<CommandEnd> lead(const Leadership& leads) {
    manager_.status("leading " + resource_ + ", fencing token " +
                    std::to_string(leads.fencing_token()));
    try {
      return command_.run(leads.lease(), signals_, terminal_, manager_, [this] {
        manager_.status("losing " + resource_ + ": the command has been asked to end");
      });
    } catch (const Failure& failure) {
      if (failure.code() != "lost") throw;
      return std::nullopt;
    }
  }

  Result<void> resigned(Leadership& leads) {
    return give_up_and_close(coordinator_,
                             [&](auto handler) { leads.async_resign(std::move(handler)); });
  }

  int conclude(Leadership& leads, const CommandEnd& end) {
    manager_.stopping("the command has ended: resigning as the leader of " + resource_);
    const Result<void> done = resigned(leads);
    const std::string trouble = done ? "" : std::string("; ") + done.error().what();
    if (end.lost || (!done && done.error().code() != Errc::no_quorum)) {
      throw Failure(ExitCode::lease_lost, "lost",
                    "the leadership of " + resource_ + " was lost after " + text_of(end.held) +
                        ", while the command ran" + trouble);
    }
    Json members = {{"led_ms", rounded(end.held).count()}};
    end.add_to(members);
    if (!done) members["warning"] = done.error().what();
    report("ended", "the command has ended after " + text_of(end.held) + trouble, members);
    return end.exit_code();
  }

  /// Reports an event on standard error.
  void report(const char* event, const std::string& sentence, const Json& members) const {
    if (!globals_.json) {
      const bool is_lost = std::string_view(event) == "lost";
      return log_sentence(is_lost ? EventLevel::warning : EventLevel::info, event, sentence,
                          resource_);
    }
    Json document = {{"event", event}, {"resource", resource_}};
    document.update(members);
    try {
      print(document, stderr);
    } catch (const Failure&) {
      // The output has no reader; the command matters more.
    }
  }

  const Globals& globals_;
  const std::string resource_;
  const Options options_;
  const std::string value_;
  const HeldCommand command_;
  Signals signals_;  // before any thread
  const Terminal terminal_;
  Coordinator coordinator_;
  NodesWatch nodes_;
  Notifier manager_;
  Election election_;
};

int lead_or_fail_as_asked(const Globals& globals, const LeaderArguments& asked) {
  return failing_as_asked(asked, [&] { return Candidate(globals, asked).run(); });
}

}  // namespace

void add_leader(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<LeaderArguments>();
  CLI::App& command = *app.add_subcommand(
      "leader", "run a command while leading: quorumlock leader RESOURCE -- CMD ARG...");
  command.footer(
      "Campaigns without limit, in the order in which candidates came, and runs the command while\n"
      "it leads. The command runs as that of `run` does: the same variables, signals passed on,\n"
      "SIGTERM before the leadership ends and SIGKILL at its end. After a lost leadership it\n"
      "campaigns again, and the command is started anew when it is elected.\n\n"
      "If the command ends by itself, it resigns and ends with the command's exit code, or with\n"
      "128 + N if signal N ended it: another candidate leads, and a service manager decides\n"
      "whether this one is restarted. SIGTERM and SIGINT are passed on, and end it in the same\n"
      "way; while it campaigns they end it with 128 + N. SIGHUP is passed on; while it campaigns\n"
      "it reads the nodes in the configuration file again, or ends it if there is no such file.\n\n"
      "A service manager that sets NOTIFY_SOCKET (systemd's Type=notify) hears READY=1 when the\n"
      "campaign begins: a candidate that waits counts as running. STATUS says whether it\n"
      "leads. WATCHDOG_USEC and LISTEN_FDS are handled as by `run`.\n\n"
      "Standard error has a line for each leadership and its end, and for a campaign that waits\n"
      "for a second: who leads. With --json it has one document for each leadership and each end.");
  add_duration(command, "--ttl", asked->ttl,
               "how long others wait if this process dies; the leadership is renewed");
  command
      .add_option_function<std::string>(
          "--value", [asked](const std::string& value) { asked->value = value; },
          "what observers see of this leader, such as its address (host:pid:CMD, its label)")
      ->type_name("TEXT");
  asked->add_flags_to(command);
  command.add_option("RESOURCE", asked->resource, "the election's name")->required()->type_name("");
  globals.add_flags_to(command);
  command.callback([=, &globals, &chosen] {
    asked->take_words(globals, "leader RESOURCE -- CMD ARG...");
    chosen = [=, &globals] { return lead_or_fail_as_asked(globals, *asked); };
  });
}

}  // namespace quorumlock::cli
