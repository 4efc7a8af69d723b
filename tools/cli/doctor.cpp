#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>

#include <quorumlock/admin.hpp>
#include "commands.hpp"
#include "globals.hpp"
#include "headline.hpp"
#include "output.hpp"
#include "reports.hpp"
#include "status_watch.hpp"

namespace quorumlock::cli {
namespace {

using quorumlock::Finding;
using quorumlock::Severity;

std::string counted(std::ptrdiff_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::ptrdiff_t how_many(const std::vector<Finding>& findings, Severity severity) {
  return std::ranges::count(findings, severity, &Finding::severity);
}

/// A line for each finding; nodes of which the same is to be said share one.
std::string report(const std::vector<Finding>& findings) {
  std::string text;
  const auto same = [](const Finding& one, const Finding& other) {
    return one.severity == other.severity && one.what == other.what && one.remedy == other.remedy;
  };
  for (auto finding = findings.begin(); finding != findings.end(); ++finding) {
    const auto is_same = [&](const Finding& other) { return same(*finding, other); };
    if (std::any_of(findings.begin(), finding, is_same)) continue;  // said already
    std::vector<std::string> nodes;
    for (auto other = finding; other != findings.end(); ++other) {
      if (is_same(*other) && !other->node.empty()) nodes.push_back(other->node);
    }
    text += std::string(to_string(finding->severity)) + ": ";
    if (nodes.size() > 1) text += "each of ";
    if (!nodes.empty()) text += in_words(nodes) + " ";
    text += finding->what + ". Remedy: " + finding->remedy + "\n";
  }
  if (findings.empty()) return "nothing endangers locks on these nodes";
  return text + counted(how_many(findings, Severity::error), "error") + ", " +
         counted(how_many(findings, Severity::warning), "warning") + ", " +
         counted(how_many(findings, Severity::hint), "hint");
}

/// On a terminal a headline says what a person has to know first.
void show(const ClusterStatus& status, const std::vector<Finding>& findings) {
  const Screen screen = Screen::of_output();
  const std::string text = report(findings);
  print(screen.is_terminal ? headline_of(status, findings).above(text) : View{.text = text},
        screen);
}

/// Notes of each node that waits whether a connected client enrols it. Our own client ends with
/// this command, so it is closed by now and does not count. A node that does not show its clients,
/// or cannot be asked, stays as it is.
void note_enrollers(MembersChange& nodes, ClusterStatus& status) {
  const Result<std::vector<MembersReport>> groups = nodes.look();
  if (!groups) return;
  for (const MembersReport& group : *groups) {
    for (const Member& member : group.members) {
      for (NodeStatus& node : status.nodes) {
        const bool waits = node.enrolment.standing == NodeEnrolment::Standing::quarantined;
        if (!waits || node.node != member.node || !member.enrollers) continue;
        node.enrolment.nobody_enrols = *member.enrollers == 0;
      }
    }
  }
}

int doctor(const Globals& globals) {
  const Options options = globals.options();
  Signals signals;
  Coordinator coordinator = coordinator_with(options);
  StatusWatch watch(coordinator, signals);
  std::optional<ClusterStatus> status = watch.look();
  if (!status) throw Failure::interrupted(watch.asked_to_end(), "while looking at the nodes");
  coordinator.close();
  // Nodes that differ about their list are findings of the status.
  Result<MembersChange> nodes = MembersChange::open(options);
  if (nodes && std::ranges::any_of(status->nodes, [](const NodeStatus& node) {
        return node.enrolment.standing == NodeEnrolment::Standing::quarantined;
      })) {
    note_enrollers(*nodes, *status);
  }
  std::vector<Finding> findings;
  if (nodes && options.fencing) findings = nodes->bad_counters();
  std::ranges::move(findings_of(*status), std::back_inserter(findings));
  if (globals.json) {
    print(findings_json(findings));
  } else {
    show(*status, findings);
  }
  const bool well = how_many(findings, Severity::hint) == std::ssize(findings);
  return well ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Json findings_json(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", to_string(finding.severity)},
                    {"node", finding.node.empty() ? Json() : Json(finding.node)},
                    {"code", finding.code},
                    {"what", finding.what},
                    {"remedy", finding.remedy}});
  }
  return {{"errors", how_many(findings, Severity::error)},
          {"warnings", how_many(findings, Severity::warning)},
          {"hints", how_many(findings, Severity::hint)},
          {"findings", std::move(list)}};
}

void add_doctor(CLI::App& app, Globals& globals, Action& chosen) {
  CLI::App& command =
      *app.add_subcommand("doctor", "name what endangers locks on these nodes, and the remedy");
  globals.add_flags_to(command);
  command.callback([&globals, &chosen] { chosen = [&globals] { return doctor(globals); }; });
}

}  // namespace quorumlock::cli
