#pragma once

#include <string>

#include "sim/requests.hpp"
#include "sim/wall_clock.hpp"

/// The commands by which a server reports on itself. Each returns its reply as RESP.
namespace quorumlock::sim {

class Server;

/// INFO, with the fields that clients may ask for.
std::string info(const Server& server, const Words& words, TrueTime now);
/// CONFIG GET.
std::string config_get(const Server& server, const Words& words);

}  // namespace quorumlock::sim
