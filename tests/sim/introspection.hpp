#pragma once

#include <string>

#include "sim/requests.hpp"
#include "sim/wall_clock.hpp"

/// What a server reports about itself, as RESP.
namespace quorumlock::sim {

class Server;

/// INFO, with the fields that clients may ask for.
std::string info(const Server& server, const Words& words, TrueTime now);
/// CONFIG GET.
std::string config_get(const Server& server, const Words& words);

}  // namespace quorumlock::sim
