#include "members_report.hpp"

#include <algorithm>

#include <quorumlock/event.hpp>

#include "output.hpp"

namespace quorumlock::cli {
namespace {

std::string lists_of(const Member& member) {
  if (member.in_list && member.in_new_list) return "both";
  if (member.in_list) return "leaves";
  return member.in_new_list ? "joins" : "neither";
}

/// Returns the clients with other nodes; "?" if the node does not report them.
std::string clients_of(const Member& member) {
  if (!member.old_clients) return member.state == MemberState::unreachable ? "-" : "?";
  return std::to_string(member.old_clients->size());
}

/// Returns " with max_ttl 30s and fencing_memory 1d", if the change is about that.
std::string terms_of(const MembersReport& report, bool next) {
  const bool same =
      report.max_ttl == report.new_max_ttl && report.fencing_memory == report.new_fencing_memory;
  if (same || !report.max_ttl || !report.fencing_memory) return {};
  return " with max_ttl " + to_text(next ? *report.new_max_ttl : *report.max_ttl) +
         " and fencing_memory " +
         to_text(next ? *report.new_fencing_memory : *report.fencing_memory);
}

template <class Duration>
Json ms_of(const std::optional<Duration>& span) {
  return span ? Json(std::chrono::milliseconds(*span).count()) : Json();
}

}  // namespace

std::string members_text(const std::vector<MembersReport>& groups, std::size_t width) {
  std::string text;
  for (const MembersReport& group : groups) {
    if (!group.group.empty()) text += "group " + group.group + ":\n";
    const auto all = [&](auto usual) { return std::ranges::all_of(group.members, usual); };
    Table table(
        {{.heading = "NAME", .is_name = true},
         {"STATE"},
         {"EPOCH", all([&](const Member& member) { return member.epoch == group.epoch; })},
         {"LIST", all([](const Member& member) { return member.in_list && member.in_new_list; })},
         {"CLIENTS WITH OTHER NODES",
          all([](const Member& member) { return clients_of(member) == "0"; })}});
    for (const Member& member : group.members) {
      table.add({member.name, std::string(to_string(member.state)),
                 member.epoch ? std::to_string(*member.epoch) : "-", lists_of(member),
                 clients_of(member)});
    }
    text += table.text(width) + "next: " + group.next_step;
    if (&group != &groups.back()) text += "\n";
  }
  return text;
}

std::string plan_text(const MembersReport& report) {
  const auto shared = std::ranges::count_if(
      report.members, [](const Member& member) { return member.in_list && member.in_new_list; });
  const auto quorum = [](std::size_t nodes) { return static_cast<std::ptrdiff_t>(nodes / 2 + 1); };
  const auto all = static_cast<std::ptrdiff_t>(report.new_list.size());
  const std::ptrdiff_t before = quorum(report.list.size());
  const std::ptrdiff_t after = quorum(report.new_list.size());
  const std::string of_new = std::to_string(after) + " of its " + std::to_string(all) + " nodes";
  std::string text =
      "plan: from {" + in_words(report.list) + "}" + terms_of(report, false) + " to {" +
      in_words(report.new_list) + "}" + terms_of(report, true) +
      "\n  1. announce: nodes serve clients with either list, and new nodes vote max_ttl later; a "
      "client with the new one needs " +
      std::to_string(before) + " of the " + std::to_string(shared) + " nodes of both lists, and " +
      of_new +
      "\n  2. give all clients the new list\n  3. commit: clients with the old list are refused "
      "from then on; max_ttl later the list is settled, and " +
      of_new + " are enough\n";
  const std::ptrdiff_t down = std::min(shared - before, all - after);
  const bool waits = shared - after < down;
  if (after > shared) {
    text += "     Clients with the new nodes get no lock until new nodes vote.\n";
  } else if (down == 0) {
    text += "     All nodes of both lists have to be up until then.\n";
  } else {
    text += "     Of the nodes of both lists " + std::to_string(down) + " may be down meanwhile" +
            (waits ? ", once new nodes vote" : "") + ".\n";
  }
  return text + "quorumlock members apply makes all steps, and waits for the clients in between";
}

Json members_json(const std::vector<MembersReport>& groups) {
  Json all = Json::array();
  for (const MembersReport& group : groups) {
    Json members = Json::array();
    for (const Member& member : group.members) {
      members.push_back({{"name", member.name},
                         {"node", member.node},
                         {"state", to_string(member.state)},
                         {"epoch", member.epoch ? Json(*member.epoch) : Json()},
                         {"in_list", member.in_list},
                         {"in_new_list", member.in_new_list},
                         {"old_clients", member.old_clients ? Json(*member.old_clients) : Json()}});
    }
    all.push_back({{"group", group.group.empty() ? Json() : Json(group.group)},
                   {"stage", to_string(group.stage)},
                   {"epoch", group.epoch ? Json(*group.epoch) : Json()},
                   {"done", group.done},
                   {"list", group.list},
                   {"new_list", group.new_list},
                   {"max_ttl_ms", ms_of(group.max_ttl)},
                   {"fencing_memory_ms", ms_of(group.fencing_memory)},
                   {"new_max_ttl_ms", ms_of(group.new_max_ttl)},
                   {"new_fencing_memory_ms", ms_of(group.new_fencing_memory)},
                   {"members", std::move(members)},
                   {"next_step", group.next_step}});
  }
  const bool done = std::ranges::all_of(groups, &MembersReport::done);
  return {{"agree", done}, {"groups", std::move(all)}};
}

}  // namespace quorumlock::cli
