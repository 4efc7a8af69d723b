#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quorumlock::redis {

/// The name that a client gives its connection to a node (CLIENT SETNAME): what an operator has to
/// know of it, "quorumlock:" and the list, followed by ":knows" and ":enrols". Until it has read
/// the records there is no list.
struct ClientName {
  std::string list;     ///< that of the client's list of nodes: see list_mark()
  bool knows = false;   ///< it has seen a node enrolled, so it may hold locks
  bool enrols = false;  ///< the node lets it do that

  /// Unset if the name is not one of ours.
  static std::optional<ClientName> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
  bool operator==(const ClientName&) const = default;
};

/// A connection of ours in a reply to CLIENT LIST.
struct ConnectedClient {
  std::string id;
  std::string address;
  ClientName name;
};
/// The connections of ours in such a reply.
std::vector<ConnectedClient> connected_clients(std::string_view listed);

}  // namespace quorumlock::redis
