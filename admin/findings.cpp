#include <quorumlock/admin.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <quorumlock/event.hpp>
#include <quorumlock/options.hpp>

#include "verbs/rights.hpp"

namespace quorumlock {
namespace {

using std::chrono::nanoseconds;

/// Fencing counters should take at most one tenth of a node's memory.
constexpr std::uint64_t counters_part = 10;
/// A clock that is off by more than this is not synchronized, and may be corrected in a step.
constexpr nanoseconds greatest_offset = std::chrono::seconds(1);

std::string formatted(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

std::string in_seconds(nanoseconds duration) {
  return formatted("%.3f s", std::abs(std::chrono::duration<double>(duration).count()));
}

std::string ahead_or_behind(nanoseconds duration) {
  return in_seconds(duration) + (duration > nanoseconds::zero() ? " ahead of " : " behind ");
}

std::string seconds_left(nanoseconds duration) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(duration).count()) + " s left";
}

/// What to do about a node that refuses every write, by its own words.
const char* remedy_of_refusal(const std::string& words) {
  const auto says = [&words](const char* code) { return words.find(code) != words.npos; };
  if (says("OOM ")) {
    return "raise its maxmemory, or delete what else it keeps: the other keys, or fencing counters "
           "by a shorter fencing_memory";
  }
  if (says("MISCONF ")) {
    return "make room on its disk or mend it, as its log says; a node that needs no snapshots: "
           "CONFIG SET save \"\"";
  }
  if (says("NOREPLICAS ")) {
    return "start its replicas again; a node without replicas: CONFIG SET min-replicas-to-write 0";
  }
  if (says("READONLY ")) return "name standalone servers only, which take writes";
  return "leave EVAL and EVALSHA their names (rename-command in its configuration), and name the "
         "server itself instead of a proxy";
}

/// Whether a node that cannot be used has said why, as one in protected mode does.
bool turns_away(const std::string& trouble) {
  return trouble.find("answered ") != trouble.npos;
}

/// What to do about a node that is not to be reached: it is down, or turns us away in words.
const char* remedy_of_unreachable(const std::string& trouble, bool most_are_away) {
  if (!turns_away(trouble)) {
    return most_are_away
               ? "start it, or mend the way to it; if a majority of the nodes is gone for good, "
                 "stop "
                 "all clients, wait for max_ttl, and found a list without them: quorumlock enroll "
                 "--new --force"
               : "start it, or mend the way to it; if it is gone for good, put another node in its "
                 "place and run quorumlock members apply";
  }
  if (trouble.find("max number of clients") != trouble.npos) {
    return "it runs, and has as many connections as its maxclients allows: raise that, or see by "
           "CLIENT LIST who holds them";
  }
  if (trouble.find("DENIED ") != trouble.npos) {
    return "it runs, and lets in only clients of its own machine until it has users or a password "
           "(docs/security.md)";
  }
  return "it runs, and turns clients away: see to what it says";
}

/// Whether a node's name is an address that means another server on each machine.
bool is_local(std::string_view name) {
  return name.starts_with("127.") || name.starts_with("localhost:") || name.starts_with("[::1]") ||
         name.starts_with('/');
}

/// Collects the findings about one node.
class Examination {
 public:
  Examination(std::vector<Finding>& into, const ClusterStatus& cluster, const NodeStatus& node)
      : into_(into), cluster_(cluster), node_(node) {}

  void run() {
    // There is nothing more to find about a node that never votes or does not answer.
    if (kind() || !answers()) return;
    writes();
    persistence();
    memory();
    access();
    clock();
    enrolment();
    membership();
  }

 private:
  void error(const char* code, std::string what, std::string remedy) {
    into_.push_back({Severity::error, node_.node, code, std::move(what), std::move(remedy)});
  }
  void hint(const char* code, std::string what, std::string remedy) {
    into_.push_back({Severity::hint, node_.node, code, std::move(what), std::move(remedy)});
  }

  /// Whether the node is of a kind that never votes.
  bool kind() {
    if (node_.role == "replica") {
      error("replica", "is a replica: it has locks late or never, and casts no vote",
            "name standalone servers only; to make it a node of its own, stop it, empty its "
            "directory and start it without a master: it is then quarantined until every lock that "
            "it may not know of has run out");
    } else if (node_.cluster_mode == true) {
      error("cluster_mode", "runs in cluster mode, and casts no vote",
            "name standalone servers only: cluster-enabled no");
    } else if (node_.reason == Vote::not_standalone) {
      const bool fails_over = node_.node.find("+sentinel://") != std::string::npos;
      error("not_standalone", node_.trouble,
            fails_over ? "let min-replicas-to-write be the number of replicas, on all servers of "
                         "the service, in their files, too"
                       : "name standalone servers only");
    } else {
      return false;
    }
    return true;
  }

  bool answers() {
    if (!node_.same_server_as.empty()) {
      error("same_server",
            "is the same server as " + node_.same_server_as.front() +
                ": one server must not have two votes",
            "name each server once, and as many servers as there are to be nodes");
    }
    if (node_.state == NodeState::up || node_.state == NodeState::quarantined) return true;
    if (node_.trouble.find("too old") != std::string::npos) {
      error("too_old", node_.trouble, "upgrade it");
    } else if (node_.reason == Vote::unauthorized) {
      error("unauthorized", "does not let us in: " + node_.trouble,
            "give its user and password: in the URL, or by user and password_file "
            "(docs/configuration.md)");
    } else if (node_.reason == Vote::tls_failed) {
      error("tls_failed", node_.trouble, "docs/security.md says what each reason means");
    } else {
      const char* const does = turns_away(node_.trouble) ? "turns us away" : "does not answer";
      hint("unreachable", does + (node_.trouble.empty() ? "" : ": " + node_.trouble),
           remedy_of_unreachable(node_.trouble, most_are_away()));
    }
    return false;
  }

  /// Whether the nodes of its group that answer are too few for a change of their list.
  bool most_are_away() const {
    int nodes = 0;
    int away = 0;
    for (const NodeStatus& one : cluster_.nodes) {
      if (one.group != node_.group) continue;
      ++nodes;
      if (one.state != NodeState::up && one.state != NodeState::quarantined) ++away;
    }
    return 2 * (nodes - away) <= nodes;
  }

  void writes() {
    if (node_.reason != Vote::refuses_writes) return;
    error("refuses_writes", "refuses every write, and casts no vote: " + node_.trouble,
          remedy_of_refusal(node_.trouble));
  }

  void persistence() {
    const NodePersistence& is = node_.persistence;
    const char* const remedy =
        "set appendonly yes, appendfsync always and no-appendfsync-on-rewrite no";
    const char* const lost =
        ": if most nodes are restarted at one time, the order of fencing tokens rests on clocks";
    if (is.append_only == false) {
      hint("no_fsync", std::string("has appendonly no") + lost, remedy);
    } else if (!is.append_fsync.empty() && is.append_fsync != "always") {
      hint("no_fsync", "has appendfsync " + is.append_fsync + lost, remedy);
    } else if (is.no_fsync_on_rewrite == true) {
      hint("no_fsync", std::string("has no-appendfsync-on-rewrite yes") + lost, remedy);
    }
    if (is.last_write_ok == false) {
      error("disk_failing", "could not write to its append-only file",
            "make room on its disk, or mend it: see its log");
    }
  }

  void memory() {
    const bool evicts =
        !node_.memory.eviction_policy.empty() && node_.memory.eviction_policy != "noeviction";
    if (evicts && node_.memory.limit.value_or(0) > 0) {
      error("eviction",
            "may evict locks: maxmemory is " + std::to_string(*node_.memory.limit) +
                " bytes, with maxmemory-policy " + node_.memory.eviction_policy,
            "set maxmemory-policy noeviction, and keep caches on other servers");
    }
    counters();
  }

  void counters() {
    const NodeMemory& is = node_.memory;
    const bool limited = is.limit.value_or(0) > 0;
    const std::uint64_t room = limited ? *is.limit : is.machine.value_or(0);
    if (room == 0 || is.counters_bytes.value_or(0) <= room / counters_part) return;
    hint("many_counters",
         "keeps about " + std::to_string(is.counters.value_or(0)) +
             " fencing counters, one for each lock that was used within fencing_memory, in about " +
             std::to_string(*is.counters_bytes) + " bytes: more than a tenth of " +
             (limited ? "maxmemory, which is " : "its machine's memory, which is ") +
             std::to_string(room) + " bytes",
         "lower fencing_memory for the whole cluster, lock fewer different names, or give it more "
         "memory");
  }

  void access() {
    if (node_.access.scripts == false) {
      error("no_scripts", "does not let this user call EVAL and EVALSHA: it casts no vote",
            "allow them: ACL SETUSER <user> +eval +evalsha +script");
    }
    for (const std::string& name : node_.access.missing_rights) {
      const redis::Right* const right = redis::right_named(name);
      if (right == nullptr) continue;
      const bool channel = name.starts_with('&'), keys = redis::is_of_keys(name);
      const std::string remedy =
          "ACL SETUSER <user> " + (channel || keys ? name : "+" + name) + " (docs/security.md)" +
          (channel || keys ? "" : "; a command that was renamed needs its name again");
      into_.push_back({right->vital ? Severity::error : Severity::hint, node_.node, "missing_right",
                       redis::without(name), remedy});
    }
    if (node_.access.plain_text) {
      error("plain_text",
            "is not on this machine, and no TLS is used: the password, the locks and their tokens "
            "can be read and changed on the way",
            "use rediss:// (docs/security.md), or a tunnel with an end on this machine");
    }
    if (node_.access.open_to_all == true) {
      error("unprotected",
            "is protected by nothing: it listens beyond this machine, with protected-mode no and "
            "no password",
            "set a password (requirepass or ACL), or bind it to an interface that others do not "
            "reach");
    }
  }

  void clock() {
    const NodeClock& is = node_.clock;
    if (is.jump && is.mistrusted_for > nanoseconds::zero()) {
      error("clock_jumped",
            "has a clock that was " + ahead_or_behind(*is.jump) +
                "what drift_factor allows; its votes do not count, " +
                seconds_left(is.mistrusted_for),
            "let NTP slew its clock and never step it");
    }
    const bool drifts =
        is.drift && std::abs(*is.drift) - is.drift_uncertainty > cluster_.drift_factor;
    if (drifts) {
      error("clock_drift",
            "has a clock that runs " + formatted("%.2f", std::abs(*is.drift) * 100) + " % " +
                (*is.drift > 0 ? "faster" : "slower") + " than ours, beyond drift_factor",
            "run NTP on its machine and on ours");
    }
    if (is.offset && std::chrono::abs(*is.offset) - is.uncertainty > greatest_offset) {
      error("clock_offset",
            "has a clock that is " + ahead_or_behind(*is.offset) +
                "ours: when it is set right in a step, locks end early or late",
            "run NTP on its machine and on ours");
    }
  }

  void enrolment() {
    const NodeEnrolment& is = node_.enrolment;
    if (node_.reason == Vote::max_ttl_differs) {
      error("max_ttl_differs", node_.trouble,
            "leave max_ttl out, and this client follows the nodes; to change that of the nodes: "
            "quorumlock members apply");
    } else if (node_.reason == Vote::groups_differ) {
      error(
          "groups_differ", is.why,
          "name the same groups in the configuration of all clients; to change those of the nodes: "
          "quorumlock enroll, once no client uses the old ones (docs/scaling.md)");
    } else if (node_.reason == Vote::terms_differ) {
      error("terms_differ", node_.trouble,
            "leave fencing_memory out, and this client follows the nodes; to change that of the "
            "nodes: quorumlock members apply");
    } else if (node_.reason == Vote::nodes_differ) {
      error("nodes_differ", node_.trouble,
            "give all clients the same nodes; if this list is the right one, quorumlock members "
            "shows "
            "how to make it that of the nodes");
    } else if (is.standing == NodeEnrolment::Standing::refused &&
               node_.reason != Vote::refuses_writes) {
      error("not_enrolled", is.why,
            node_.access.scripts == false ? "let this user call EVAL" : "see what it says");
    } else if (is.nobody_enrols) {
      error("nobody_enrols", "casts no vote, and no connected client enrols it: it " + is.why,
            "start quorumlock enroll --watch, or a client, as a user with an operator's rights "
            "(docs/security.md)");
    } else if (is.standing == NodeEnrolment::Standing::quarantined &&
               node_.reason != Vote::refuses_writes && node_.access.scripts != false) {
      hint("quarantined",
           "casts no vote yet: it " + is.why +
               (is.quarantined_for > nanoseconds::zero()
                    ? "; at most " + seconds_left(is.quarantined_for)
                    : ""),
           std::string("wait it out with quorumlock enroll, or keep a client running") +
               (is.was_enrolled ? ""
                                : "; nodes that no client has used yet: quorumlock enroll --new"));
    }
    if (is.clocks_order_fences_since) {
      const std::time_t since = std::chrono::system_clock::to_time_t(*is.clocks_order_fences_since);
      std::tm utc{};
      gmtime_r(&since, &utc);
      char text[32];
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
      hint("fences_by_clock",
           std::string("has rested the order of its fencing tokens on clocks since ") + text +
               ": when it came back too few nodes were left to repair its counters from, or one of "
               "the counters was no number",
           "keep clocks within a minute of one another");
    }
  }

  void membership() {
    const NodeMembership& is = node_.membership;
    if (is.name.empty()) return;
    // What fewer than N - q + 1 nodes say may be made up: it says nothing about the others.
    std::ptrdiff_t all = 0, newer = 0, older = 0;
    for (const NodeStatus& each : cluster_.nodes) {
      if (each.group != node_.group) continue;
      ++all;
      if (each.membership.name.empty()) continue;
      if (each.membership.epoch > is.epoch) ++newer;
      if (each.membership.epoch < is.epoch) ++older;
    }
    const std::ptrdiff_t enough = all - (all / 2 + 1) + 1;
    const bool behind = newer >= enough;
    const bool apart = older >= enough && is.phase == ListPhase::settled;
    const bool enrolled = node_.enrolment.standing == NodeEnrolment::Standing::enrolled;
    if (enrolled && !behind && node_.reason == Vote::quarantined) {
      error("nodes_differ", node_.trouble, "give all clients the same nodes, by the same names");
    }
    if (behind && enrolled) {
      error("behind",
            "has missed a change of the nodes: it knows the list of epoch " +
                std::to_string(is.epoch) + ", which is over",
            "take it along: quorumlock members commit");
    }
    if (enrolled && apart) {
      error("apart",
            "says that its list is of epoch " + std::to_string(is.epoch) +
                ", and enough others know an earlier one: somebody may have written that there, or "
                "its data "
                "comes from an old disk",
            "quorumlock members commit makes it forget that, or brings the others up to it");
    }
    if (is.name != is.configured_name) {
      error("named_otherwise",
            "is called " + is.name + " in its list of nodes, and " + is.configured_name +
                " by this client: a process that starts while it cannot be reached gets no lock "
                "from any node",
            "spell its address as " + is.name + ", or give it that name in the configuration");
    }
    // A name without a port was given by somebody, and is not an address.
    const auto elsewhere = [](const std::string& name) {
      return name.find(':') != name.npos && !is_local(name);
    };
    if (is_local(is.name) && std::ranges::any_of(is.nodes, elsewhere)) {
      error("local_address",
            "is called " + is.name +
                ", which is another server on each machine, and other nodes "
                "of its list are on other machines",
            "give it an address that means it everywhere, or a name, by quorumlock members");
    }
  }

  std::vector<Finding>& into_;
  const ClusterStatus& cluster_;
  const NodeStatus& node_;
};

/// Examines one quorum: all nodes, or a group of them.
void examine_quorum(std::vector<Finding>& into, const GroupStatus& group) {
  const int size = group.nodes;
  const std::string of_group = group.name.empty() ? "" : "group " + group.name + ": ";
  const std::string nodes = std::to_string(size) + (size == 1 ? " node" : " nodes");
  if (!group.has_quorum()) {
    into.push_back({Severity::error, "", "no_quorum",
                    of_group + "only " + std::to_string(group.voters) + " of " + nodes +
                        " may vote, and a quorum is " + std::to_string(group.quorum) +
                        ": no lock can be had",
                    "see to the nodes below"});
  } else if (size >= 3 && group.voters == group.quorum) {
    into.push_back({Severity::warning, "", "no_spare_vote",
                    of_group + "only " + std::to_string(group.voters) + " of " + nodes +
                        " may vote, which is just a quorum: if one more fails, no lock can be had",
                    "see to the nodes below, and restart no other node until one of them votes"});
  }
  if (size < 3) {
    into.push_back({Severity::hint, "", "few_nodes", of_group + nodes + ": none may fail",
                    "use three nodes or five, on machines that do not fail together"});
  } else if (size % 2 == 0) {
    into.push_back(
        {Severity::hint, "", "even_nodes",
         of_group + nodes + " tolerate no more failures than " + std::to_string(size - 1),
         "use an odd number of nodes"});
  }
}

/// Examines a change of the nodes that is under way, or was abandoned.
void examine_change(std::vector<Finding>& into, const ClusterStatus& status) {
  std::string last_group = "-";
  for (const NodeStatus& node : status.nodes) {
    const NodeMembership& is = node.membership;
    if (is.next.empty() || node.group == last_group) continue;
    last_group = node.group;
    const bool announced = is.phase == ListPhase::announced;
    std::string next;
    for (const std::string& name : is.next) next += (next.empty() ? "" : ", ") + name;
    into.push_back({Severity::hint, "", "change_unfinished",
                    (node.group.empty() ? "" : "group " + node.group + ": ") +
                        std::string("a change of the nodes to {") + next + "} is " +
                        (announced ? "announced and not committed"
                                   : "committed and not settled: fewer nodes may fail meanwhile"),
                    announced ? "finish it, or take it back: quorumlock members"
                              : "finish it, with those nodes in the configuration: quorumlock "
                                "members commit"});
  }
}

void examine_all(std::vector<Finding>& into, const ClusterStatus& status) {
  for (const GroupStatus& group : status.groups) examine_quorum(into, group);
  if (status.groups.empty()) {
    examine_quorum(into,
                   {"", static_cast<int>(status.nodes.size()), status.quorum, status.voters()});
  }
  examine_change(into, status);
}

}  // namespace

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::hint: return "hint";
  }
  return "unknown";
}

std::vector<Finding> findings_of(const ClusterStatus& status) {
  std::vector<Finding> findings;
  examine_all(findings, status);
  for (const NodeStatus& node : status.nodes) Examination(findings, status, node).run();
  // The gravest come first, and of those the ones that explain why a node does not vote.
  const auto rank = [&status](const Finding& finding) {
    const auto node = std::ranges::find(status.nodes, finding.node, &NodeStatus::node);
    return std::pair(finding.severity, node != status.nodes.end() && node->votes);
  };
  std::ranges::stable_sort(findings, {}, rank);
  for (Finding& finding : findings) {
    if (finding.what.ends_with('.')) finding.what.pop_back();  // a server's own sentence
    for (std::string* const text : {&finding.node, &finding.what, &finding.remedy}) {
      *text = printable(*text);
    }
  }
  return findings;
}

}  // namespace quorumlock
