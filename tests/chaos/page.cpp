#include "chaos/page.hpp"

#include <algorithm>
#include <sstream>

#include "chaos/timeline.hpp"
#include "chaos/verdict.hpp"

namespace quorumlock::chaos {
namespace {

constexpr const char* style = R"(
body { font: 14px/1.45 system-ui, sans-serif; color: #1c2128; margin: 24px auto; max-width: 1240px;
       padding: 0 16px; background: #fff; }
h1 { font-size: 22px; margin: 0 0 12px; } h2 { font-size: 17px; margin: 28px 0 8px; }
.verdict { padding: 14px 18px; border-radius: 6px; font-size: 17px; color: #fff; }
.held { background: #1a7f37; } .failed { background: #cf222e; }
table { border-collapse: collapse; } td, th { text-align: left; padding: 2px 16px 2px 0;
        vertical-align: top; } th { font-weight: 600; }
code { background: #f0f2f4; padding: 1px 4px; border-radius: 3px; }
.slice { margin: 14px 0 22px; content-visibility: auto; contain-intrinsic-size: auto 300px; }
.slice:target { outline: 3px solid #cf222e; outline-offset: 4px; }
svg { display: block; width: 100%; height: auto; } svg.key { display: inline-block; width: 34px;
      height: 17px; vertical-align: middle; }
svg text { font: 10px system-ui, sans-serif; fill: #333; } svg .time { fill: #888; font-size: 9px; }
svg .rank { fill: #fff; font-weight: 600; font-size: 10px; pointer-events: none; }
svg .fault { font-size: 8.5px; pointer-events: none; }
.grid { stroke: #e4e7eb; } .excused { fill: #ece3f7; }
.killed { fill-opacity: .45; stroke: #333; stroke-dasharray: 2 2; stroke-width: .6; }
.together { fill-opacity: .5; }
.unaware { stroke-width: 2; stroke-dasharray: 3 3; fill: none; }
.accepted { stroke: #1a7f37; stroke-width: 1.4; fill: none; }
.refused { stroke: #b35900; stroke-width: 2; fill: none; }
.stale { stroke: #cf222e; stroke-width: 3.2; fill: none; }
.overlap { fill: none; stroke: #cf222e; stroke-width: 1.6; }
.within { fill: #f6d58a; } .beyond { fill: #c9a7eb; }
.violation { stroke: #cf222e; stroke-width: 1.4; stroke-dasharray: 5 3; }
)";

std::string key(const std::string& drawing) {
  return "<svg class=\"key\" viewBox=\"0 0 34 17\">" + drawing + "</svg>";
}

void put_legend(std::ostream& out, const History& history) {
  const auto row = [&](const std::string& drawing, const std::string& words) {
    out << "<tr><td>" << key(drawing) << "</td><td>" << words << "</td></tr>\n";
  };
  out << "<h2>What you see</h2>\n<p>" << history.workers << " worker programs compete for "
      << history.resources.size() << " locks, which " << history.nodes
      << " independent Redis servers keep together, some of which are the list of nodes: a worker "
         "holds a lock if more than half of these have granted it, for a limited time that can be "
         "renewed. It may ask for one lock or "
         "several, exclusive or shared, or for a permit of a semaphore. Each holder gets a number, "
         "the fencing token, greater than all before it. The holder of an exclusive lock writes to "
         "a store, which remembers the greatest token that it has seen and refuses smaller ones. "
         "Meanwhile the "
         "servers, the network, the clocks and the workers are broken and healed at random. Time "
         "runs to the right, ten seconds a line. Hover over anything for its details.</p>\n"
      << "<table>\n";
  row("<rect x=\"1\" y=\"1\" width=\"32\" height=\"15\" fill=\"" + colour_of(0) +
          "\"/><text class=\"rank\" x=\"9\" y=\"12\">42</text>",
      "A worker believes that it holds the lock. The colour is the worker's, the number its token: "
      "the 42nd of this lock. Numbers must grow to the right, and bars must not overlap.");
  row("<rect class=\"together\" x=\"1\" y=\"1\" width=\"24\" height=\"15\" fill=\"" + colour_of(0) +
          "\"/><rect class=\"together\" x=\"9\" y=\"1\" width=\"24\" height=\"15\" fill=\"" +
          colour_of(3) + "\"/>",
      "Workers that hold a lock together, as they may: they only read, or it is a semaphore that "
      "has "
      "several permits.");
  row("<rect class=\"killed\" x=\"1\" y=\"1\" width=\"32\" height=\"15\" fill=\"" + colour_of(1) +
          "\"/>",
      "As above, but the worker was killed: the lock is still promised to it until then.");
  row("<path class=\"unaware\" d=\"M1 9H33\" stroke=\"" + colour_of(2) + "\"/>",
      "The lock has ended, and the worker cannot know it yet: it is frozen, or has not looked.");
  row("<path class=\"accepted\" d=\"M17 5v7\"/>", "The store accepted a write.");
  row("<path class=\"refused\" d=\"M13 5l8 8m0 -8l-8 8\"/>",
      "The store refused a write that came too late, from a worker that had looked before and was "
      "frozen in between. No error: this is what fencing tokens are for.");
  row("<path class=\"stale\" d=\"M13 5l8 8m0 -8l-8 8\"/>",
      "The store accepted a write that came too late. Never to be seen.");
  row("<rect class=\"within\" x=\"1\" y=\"4\" width=\"32\" height=\"10\"/>",
      "Something is broken in a way that the lock must bear: at most one worker may believe.");
  row("<rect class=\"beyond\" x=\"1\" y=\"4\" width=\"32\" height=\"10\"/>",
      "Something is broken beyond what any Redlock lock can bear, such as a server's clock that "
      "jumps. Until all leases that it may have touched have ended (shaded) two workers may "
      "believe, and the tokens alone must keep the store right.");
  row("<rect class=\"overlap\" x=\"4\" y=\"2\" width=\"26\" height=\"13\"/>",
      "Two workers believe in the same lock: allowed in shaded parts, a violation elsewhere.");
  row("<path class=\"violation\" d=\"M17 0V17\"/>", "A violation, listed above.");
  out << "</table>\n";
}

void put_promises(std::ostream& out, const History& history,
                  const std::vector<Violation>& violations) {
  out << "<h2>What was checked</h2>\n<table>\n";
  const auto row = [&](Promise promise, const std::string& words) {
    const auto broken = std::ranges::count(violations, promise, &Violation::promise);
    out << "<tr><th>" << (broken == 0 ? "&#10004; " : "&#10008; ") << name_of(promise)
        << "</th><td>" << (broken == 0 ? "held" : "broken " + std::to_string(broken) + " times")
        << "</td><td>" << words << "</td></tr>\n";
  };
  const auto whole = std::chrono::duration<double>(history.end - history.begin).count();
  std::ostringstream demanded;
  demanded << static_cast<int>(demanded_seconds(history)) << " of " << static_cast<int>(whole)
           << " s";
  row(Promise::exclusion,
      "No two workers believe at the same time that they hold one lock, except for readers, and no "
      "more workers have a permit of a semaphore than it has permits. Demanded for " +
          demanded.str() + ", in which no fault was beyond the assumptions.");
  row(Promise::fence_at_store,
      "The tokens of the writes that the store accepted never go back, whatever is broken.");
  row(Promise::fence_of_locks,
      "A worker that asks after another was granted the lock gets a greater token, whatever "
      "breaks.");
  row(Promise::told_in_time,
      "A holder is notified before its lease ends, or right after if it was frozen then.");
  row(Promise::no_orphans, "After the end no server keeps a lock longer than its time limit.");
  row(Promise::liveness, "Once everything is healed, each worker gets a lock again within " +
                             std::to_string(history.healing_limit / std::chrono::seconds(1)) +
                             " s.");
  out << "</table>\n";
}

void put_violations(std::ostream& out, const History& history,
                    const std::vector<Violation>& violations) {
  if (violations.empty()) return;
  constexpr std::size_t most = 200;
  out << "<h2>Violations</h2>\n<table>\n";
  for (std::size_t i = 0; i < std::min(most, violations.size()); ++i) {
    const Violation& each = violations[i];
    out << "<tr><td><a href=\"#slice" << slice_of(history, each.at) << "\">"
        << seconds_into(history, each.at) << "</a></td><td>" << escaped(each.resource)
        << "</td><td>" << name_of(each.promise) << "</td><td>" << escaped(each.sentence)
        << "</td></tr>\n";
  }
  out << "</table>\n";
  if (violations.size() > most) out << "<p>And " << violations.size() - most << " more.</p>\n";
}

void put_faults(std::ostream& out, const History& history, const Faults& faults) {
  out << "<h2>What was broken</h2>\n<table>\n"
         "<tr><th>fault</th><th>what it is</th><th>Redlock must stand it</th><th>how often</th>"
         "</tr>\n";
  for (const auto& fault : faults) {
    const FaultTraits& traits = fault->traits();
    out << "<tr><td><code>" << traits.name << "</code></td><td>"
        << (traits.of_worker ? "a worker: " : "a server: ") << escaped(traits.words) << "</td><td>"
        << (traits.assumption == Assumption::within ? "yes" : "no") << "</td><td>"
        << std::ranges::count(history.faults, traits.name, &FaultSpan::name) << "</td></tr>\n";
  }
  out << "</table>\n";
}

}  // namespace

std::string page_of(const History& history, const std::vector<Violation>& violations,
                    const Faults& faults) {
  std::ostringstream out;
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width\">"
         "<title>quorumlock: real faults on real servers</title><style>"
      << style << "</style></head><body>\n<h1>quorumlock: real faults on real servers</h1>\n"
      << "<div class=\"verdict " << (violations.empty() ? "held" : "failed") << "\">"
      << escaped(verdict(history, violations)) << "</div>\n"
      << "<p>Seed " << history.seed << ". Leases of about "
      << history.ttl / std::chrono::milliseconds(1)
      << " ms; a server that forgot casts no vote for "
      << history.max_ttl / std::chrono::milliseconds(1) << " ms.</p>\n";
  put_violations(out, history, violations);
  put_promises(out, history, violations);
  put_legend(out, history);
  out << "<h2>What happened</h2>\n";
  draw_timeline(out, history, violations);
  put_faults(out, history, faults);
  out << "</body></html>\n";
  return out.str();
}

}  // namespace quorumlock::chaos
