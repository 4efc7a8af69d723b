#include "chaos/report.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace quorumlock::chaos {
namespace {

std::int64_t ns(Time time) {
  return time.time_since_epoch().count();
}

Time time_of(const nlohmann::json& json) {
  return Time(Clock::duration(json.get<std::int64_t>()));
}

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::released: return "released";
    case Ending::detached: return "detached";
    case Ending::over: return "over";
    case Ending::unfinished: return "holds";
  }
  return "";
}

Ending ending_of(const std::string& name) {
  for (const Ending each : {Ending::released, Ending::detached, Ending::over, Ending::unfinished}) {
    if (name == name_of(each)) return each;
  }
  throw std::runtime_error("no state of a lease: " + name);
}

}  // namespace

std::string to_line(const Holding& holding) {
  nlohmann::json json = {{"state", name_of(holding.ending)},
                         {"resource", holding.resource},
                         {"owner", holding.owner},
                         {"worker", holding.worker},
                         {"shared", holding.shared},
                         {"permits", holding.permits},
                         {"token", holding.token},
                         {"asked", ns(holding.asked)},
                         {"begin", ns(holding.begin)},
                         {"believed", ns(holding.believed)},
                         {"until", ns(holding.until)},
                         {"noticed", ns(holding.noticed)},
                         {"gap", holding.longest_gap.count()}};
  if (holding.told) json["told"] = ns(*holding.told);
  return json.dump();
}

Holding holding_of(const std::string& line) try {
  const nlohmann::json json = nlohmann::json::parse(line);
  Holding holding;
  holding.ending = ending_of(json.at("state"));
  holding.resource = json.at("resource");
  holding.owner = json.at("owner");
  holding.worker = json.at("worker");
  holding.shared = json.at("shared");
  holding.permits = json.at("permits");
  holding.token = json.at("token");
  holding.asked = time_of(json.at("asked"));
  holding.begin = time_of(json.at("begin"));
  holding.believed = time_of(json.at("believed"));
  holding.until = time_of(json.at("until"));
  holding.noticed = time_of(json.at("noticed"));
  holding.longest_gap = Clock::duration(json.at("gap").get<std::int64_t>());
  if (json.contains("told")) holding.told = time_of(json.at("told"));
  return holding;
} catch (const nlohmann::json::exception& error) {
  throw std::runtime_error("a worker said \"" + line + "\": " + error.what());
}

}  // namespace quorumlock::chaos
