#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <quorumlock/members.hpp>

#include "admin/members_change.hpp"

// The meaning of a look at the nodes, in words for people.
namespace quorumlock::detail {

/// A report without clients and without the next step; `urls` are those of the nodes.
MembersReport report_of(const redis::MembersChange& change, std::span<const std::string> urls);
/// A connection in a reply to CLIENT LIST.
struct ConnectedClient {
  std::string id;
  std::string address;
};
/// The clients in a reply to CLIENT LIST that have a name of ours other than `wanted`.
std::vector<ConnectedClient> clients_but(std::string_view wanted, std::string_view listed);
/// The command that comes next, and why.
std::string next_step_of(const MembersReport& report, const redis::MembersChange& change);

}  // namespace quorumlock::detail
