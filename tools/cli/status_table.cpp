#include "status_table.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace quorumlock::cli {
namespace {

using std::chrono::nanoseconds;

/// A clock that is off by less is nothing to look at.
constexpr nanoseconds usual_offset = std::chrono::milliseconds(100);

std::string formatted(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

double seconds(nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}
/// Returns milliseconds, rounded to the microsecond.
double in_milliseconds(nanoseconds duration) {
  return std::round(seconds(duration) * 1e6) / 1e3;
}

/// Returns about three digits: "0.21 ms", "+3.5 s".
std::string roughly(nanoseconds duration, const char* in_ms, const char* in_s) {
  const double s = seconds(duration);
  return std::abs(s) < 1 ? formatted(in_ms, s * 1e3) : formatted(in_s, s);
}

std::string round_trip(const NodeStatus& node) {
  return node.round_trip ? roughly(*node.round_trip, "%.2f ms", "%.1f s") : "-";
}

std::string persistence(const NodePersistence& persistence) {
  if (persistence.durable) return "every write";
  if (persistence.append_only == false) return "no log";
  if (!persistence.append_only || persistence.append_fsync.empty()) return "unknown";
  if (persistence.append_fsync != "always") return persistence.append_fsync;
  return persistence.no_fsync_on_rewrite ? "not on rewrite" : "unknown";
}

std::string eviction(const NodeMemory& memory) {
  if (!memory.limit) return "unknown";
  return *memory.limit == 0 ? "no limit" : memory.eviction_policy;
}

std::string offset(const NodeClock& clock) {
  if (!clock.offset) return "-";
  return roughly(*clock.offset, "%+.2f ms", "%+.1f s");
}

std::string drift(const NodeClock& clock) {
  // A drift whose uncertainty exceeds a tenth of the size that matters is noise.
  if (!clock.drift || clock.drift_uncertainty > 0.001) return "-";
  return formatted("%+.0f ppm", *clock.drift * 1e6);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string remark(const NodeStatus& node) {
  if (node.votes) {
    if (!node.enrolment.clocks_order_fences_since) return {};
    return "the order of its fencing tokens rests on clocks (fences_by_clock): see doctor";
  }
  std::string text(reason_of(node));
  const bool twice = node.reason == Vote::clock_jumped || node.reason == Vote::same_server;
  if (!node.trouble.empty()) text = twice ? node.trouble : text + ": " + node.trouble;
  if (node.clock.mistrusted_for > nanoseconds::zero()) {
    text += ", " + roughly(*node.clock.jump, "%+.2f ms", "%+.1f s") + "; " +
            formatted("%.0f s left", std::ceil(seconds(node.clock.mistrusted_for)));
  }
  return text;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
Json milliseconds_or_null(const std::optional<nanoseconds>& duration) {
  return duration ? Json(in_milliseconds(*duration)) : Json(nullptr);
}

Json whole_milliseconds(const std::optional<std::chrono::milliseconds>& duration) {
  return duration ? Json(duration->count()) : Json(nullptr);
}

Json clock_json(const NodeClock& clock) {
  Json json = {{"offset_ms", milliseconds_or_null(clock.offset)},
               {"uncertainty_ms", clock.offset ? Json(in_milliseconds(clock.uncertainty)) : Json()},
               {"drift", or_null(clock.drift)},
               {"drift_uncertainty", clock.drift ? Json(clock.drift_uncertainty) : Json()},
               {"jump_ms", milliseconds_or_null(clock.jump)},
               {"mistrusted_for_ms", in_milliseconds(clock.mistrusted_for)}};
  return json;
}

Json enrolment_json(const NodeEnrolment& enrolment) {
  Json json = {{"standing", to_string(enrolment.standing)},
               {"why", or_null(enrolment.why)},
               {"quarantined_for_ms",
                std::chrono::ceil<std::chrono::milliseconds>(enrolment.quarantined_for).count()},
               {"max_ttl_ms", whole_milliseconds(enrolment.max_ttl)},
               {"fencing_memory_ms", whole_milliseconds(enrolment.fencing_memory)},
               {"awaits_operator", enrolment.awaits_operator},
               {"nobody_enrols", enrolment.nobody_enrols},
               {"clocks_order_fences_since", nullptr}};
  if (enrolment.clocks_order_fences_since) {
    json["clocks_order_fences_since"] =
        std::chrono::duration<double>(enrolment.clocks_order_fences_since->time_since_epoch())
            .count();
  }
  return json;
}

Json membership_json(const NodeMembership& membership) {
  if (membership.name.empty()) return {};
  return {{"name", membership.name},
          {"epoch", membership.epoch},
          {"phase", membership.phase ? Json(to_string(*membership.phase)) : Json()},
          {"nodes", membership.nodes},
          {"next", membership.next}};
}

Json node_json(const NodeStatus& node) {
  return {{"node", node.node},
          {"group", or_null(node.group)},
          {"state", to_string(node.state)},
          {"votes", node.votes},
          {"reason", node.reason == Vote::pending ? Json() : Json(to_string(node.reason))},
          {"trouble", or_null(node.trouble)},
          {"round_trip_ms", milliseconds_or_null(node.round_trip)},
          {"role", or_null(node.role)},
          {"version", or_null(node.version)},
          {"run_id", or_null(node.run_id)},
          {"uptime_ms", whole_milliseconds(node.uptime)},
          {"cluster_mode", or_null(node.cluster_mode)},
          {"persistence",
           {{"durable", node.persistence.durable},
            {"appendonly", or_null(node.persistence.append_only)},
            {"appendfsync", or_null(node.persistence.append_fsync)},
            {"no_appendfsync_on_rewrite", or_null(node.persistence.no_fsync_on_rewrite)},
            {"last_write_ok", or_null(node.persistence.last_write_ok)}}},
          {"memory",
           {{"maxmemory", or_null(node.memory.limit)},
            {"maxmemory_policy", or_null(node.memory.eviction_policy)},
            {"machine", or_null(node.memory.machine)},
            {"fencing_counters", or_null(node.memory.counters)},
            {"fencing_counters_bytes", or_null(node.memory.counters_bytes)}}},
          {"access",
           {{"scripts", or_null(node.access.scripts)},
            {"open_to_all", or_null(node.access.open_to_all)},
            {"missing_rights", node.access.missing_rights},
            {"plain_text", node.access.plain_text}}},
          {"clock", clock_json(node.clock)},
          {"enrolment", enrolment_json(node.enrolment)},
          {"membership", membership_json(node.membership)},
          {"fences_by_clock", node.enrolment.clocks_order_fences_since.has_value()},
          {"same_server_as", node.same_server_as}};
}

}  // namespace

std::string verdict(const ClusterStatus& status) {
  const auto of = [](int voters, std::size_t nodes, int quorum) {
    return std::to_string(voters) + " of " + std::to_string(nodes) +
           " nodes may vote; a quorum is " + std::to_string(quorum);
  };
  if (status.groups.empty()) return of(status.voters(), status.nodes.size(), status.quorum);
  std::string text;
  for (const GroupStatus& group : status.groups) {
    text += (text.empty() ? "group " : "; group ") + group.name + ": " +
            of(group.voters, static_cast<std::size_t>(group.nodes), group.quorum);
  }
  return text;
}

std::string_view reason_of(const NodeStatus& node) {
  return node.reason == Vote::pending ? to_string(node.state) : describe(node.reason);
}

std::string table(const ClusterStatus& status, std::size_t width) {
  // A node that does not answer says nothing about itself.
  const auto all = [&](auto usual) {
    return std::ranges::all_of(status.nodes, [&](const NodeStatus& node) {
      return !node.round_trip.has_value() || usual(node);
    });
  };
  const auto answering = std::ranges::find_if(
      status.nodes, [](const NodeStatus& node) { return node.round_trip.has_value(); });
  const bool one_group = status.groups.size() < 2;
  std::vector<Table::Column> columns{
      {.heading = "NODE", .is_name = true},
      {"VOTES"},
      {"ROUND TRIP"},
      {"ROLE", all([](const NodeStatus& node) { return node.role == "master"; })},
      {"VERSION", all([&](const NodeStatus& node) { return node.version == answering->version; })},
      {"TO DISK", all([](const NodeStatus& node) { return node.persistence.durable; })},
      {"AT THE LIMIT", all([](const NodeStatus& node) {
         return node.memory.limit == 0 || node.memory.eviction_policy == "noeviction";
       })},
      {"CLOCK", all([](const NodeStatus& node) {
         return node.clock.offset && std::chrono::abs(*node.clock.offset) < usual_offset;
       })},
      {"DRIFT", all([&](const NodeStatus& node) {
         return std::abs(node.clock.drift.value_or(0)) < status.drift_factor / 2;
       })}};
  if (!status.groups.empty()) {
    columns.insert(columns.begin() + 1, {.heading = "GROUP", .quiet = one_group, .is_name = true});
  }
  Table table(std::move(columns));
  for (const NodeStatus& node : status.nodes) {
    const bool answered = node.round_trip.has_value();
    Row cells{node.node,
              node.votes ? "yes" : "no",
              round_trip(node),
              or_dash(node.role),
              or_dash(node.version),
              answered ? persistence(node.persistence) : "-",
              answered ? eviction(node.memory) : "-",
              offset(node.clock),
              drift(node.clock)};
    if (!status.groups.empty()) cells.insert(cells.begin() + 1, node.group);
    table.add(std::move(cells), remark(node));
  }
  std::string text = table.text(width);
  text.pop_back();
  return text;
}

Json document(const ClusterStatus& status) {
  Json nodes = Json::array();
  for (const NodeStatus& node : status.nodes) nodes.push_back(node_json(node));
  Json groups = Json::array();
  for (const GroupStatus& group : status.groups) {
    groups.push_back({{"group", group.name},
                      {"nodes", group.nodes},
                      {"voters", group.voters},
                      {"quorum", group.quorum},
                      {"can_lock", group.has_quorum()}});
  }
  return {
      {"voters", status.voters()},
      {"quorum", status.quorum == 0 ? Json() : Json(status.quorum)},
      {"can_lock", status.has_quorum()},
      {"max_ttl_ms", std::chrono::duration_cast<std::chrono::milliseconds>(status.max_ttl).count()},
      {"groups", std::move(groups)},
      {"nodes", std::move(nodes)}};
}

Json status_json(const ClusterStatus& status) {
  Json shown = document(status);
  if (!status.has_quorum()) {
    shown.update(error_json(Failure(ExitCode::no_quorum, "no_quorum", verdict(status))));
  }
  return shown;
}

}  // namespace quorumlock::cli
