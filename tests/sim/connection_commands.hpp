#pragma once

#include <string>

#include "sim/connections.hpp"

/// The commands of a client about its own connection, or another one. Each returns its reply as
/// RESP.
namespace quorumlock::sim {

std::string auth(Connection& connection, const std::string& password, const Words& words);
/// Supports only ID.
std::string client_kill(Connections& connections, const Connection& caller, const Words& words);
/// Of each client the id, the name and the database.
std::string client_list(const Connections& connections);
std::string client_setname(Connection& connection, const Words& words);
std::string ping(const Connection& connection, const Words& words);
std::string select(Connection& connection, const Words& words);
/// SUBSCRIBE, or UNSUBSCRIBE.
std::string subscribe(Connection& connection, const Words& words, bool on);

}  // namespace quorumlock::sim
