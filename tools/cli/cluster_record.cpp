#include "cluster_record.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "failure.hpp"
#include "local/certificates.hpp"

namespace quorumlock::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* file_name = "quorumlock-cluster.json";

Failure unreadable(const fs::path& file, const std::string& why) {
  return Failure::local(file.string() + " is not what cluster start writes: " + why +
                        "; look at the directory, and remove it by hand if nothing runs there");
}

/// Whether redis-server, with our settings, gives this name to one of its files.
bool is_server_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "redis.log" || name == "redis.pid" || name == "redis.sock" || name == "dump.rdb" ||
         (name.starts_with("temp-") && path.extension() == ".rdb") ||
         name.starts_with("temp-rewriteaof-");
}

bool is_tls_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "ca.pem" || name == "server.pem" || name == "server.key" || name == "config.json";
}

bool is_append_only_file(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("appendonly.aof") || name.starts_with("temp-appendonly.aof") ||
         name.starts_with("temp-rewriteaof-");
}

void remove_files(const fs::path& dir, bool (*is_ours)(const fs::path&)) {
  std::error_code ignored;
  if (fs::is_symlink(dir, ignored)) return;  // not the directory that we made
  std::vector<fs::path> ours;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, ignored)) {
    if (!entry.is_directory(ignored) && is_ours(entry.path())) ours.push_back(entry.path());
  }
  for (const fs::path& file : ours) fs::remove(file, ignored);
}

/// Removes the directory if it is empty. Returns whether it is gone.
bool remove_if_empty(const fs::path& dir) {
  std::error_code ignored;
  if (!fs::is_symlink(dir, ignored)) fs::remove(dir, ignored);
  return !fs::exists(dir, ignored);
}

}  // namespace

std::vector<local::ServerSettings> ClusterRecord::nodes() const {
  std::vector<local::ServerSettings> nodes;
  for (int i = 0; i < size; ++i) {
    local::ServerSettings node;
    node.dir = dir / ("node-" + std::to_string(i + 1));
    if (tls) {
      node.tls = local::ServerTls{.ca_file = ca_file(),
                                  .cert_file = dir / "tls" / "server.pem",
                                  .key_file = dir / "tls" / "server.key",
                                  .port = first_port + i};
    } else {
      node.port = first_port + i;
    }
    node.durable = true;
    node.outlive = true;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::optional<ClusterRecord> ClusterRecord::load(const fs::path& dir) {
  const fs::path file = dir / file_name;
  std::ifstream stream(file);
  if (!stream) {
    if (!fs::exists(file)) return std::nullopt;
    throw Failure::local("cannot read " + file.string() + ": is it another user's?");
  }
  ClusterRecord record;
  record.dir = dir;
  try {
    const Json json = Json::parse(stream);
    record.first_port = json.at("first_port").get<int>();
    record.size = json.at("size").get<int>();
    record.tls = json.value("tls", false);
    for (const Json& made : json.at("made")) record.made.emplace_back(made.get<std::string>());
  } catch (const Json::exception& error) {
    throw unreadable(file, error.what());
  }
  if (record.size < 1 || record.size > 32 || record.first_port < 1 ||
      record.first_port + record.size > 65536) {
    throw unreadable(file, "its size or its port is out of range");
  }
  return record;
}

void ClusterRecord::save() const {
  Json directories = Json::array();
  for (const fs::path& one : made) directories.push_back(one.string());
  const Json json = {{"made_by", "quorumlock cluster start"},
                     {"first_port", first_port},
                     {"size", size},
                     {"tls", tls},
                     {"made", std::move(directories)}};
  std::ofstream stream(dir / file_name);
  stream << json.dump(2) << '\n';
  stream.close();
  if (!stream) throw Failure::local("cannot write " + (dir / file_name).string());
}

std::vector<fs::path> ClusterRecord::remove() const {
  std::vector<fs::path> staying;
  for (const local::ServerSettings& node : nodes()) {
    remove_files(node.dir / "appendonlydir", is_append_only_file);
    remove_if_empty(node.dir / "appendonlydir");
    remove_files(node.dir, is_server_file);
    if (!remove_if_empty(node.dir)) staying.push_back(node.dir);
  }
  remove_files(dir / "tls", is_tls_file);
  remove_if_empty(dir / "tls");
  std::error_code ignored;
  fs::remove(dir / file_name, ignored);
  remove_empty(made);
  // The parent directories may contain other files by now, so they may stay.
  if (std::ranges::find(made, dir) != made.end() && fs::exists(dir)) staying.push_back(dir);
  return staying;
}

void ClusterRecord::make_tls_files() const {
#if QUORUMLOCK_WITH_TLS
  local::make_certificates(dir / "tls");
  Json list = Json::array();
  for (const local::ServerSettings& node : nodes()) list.push_back(url_of(node));
  const Json json = {{"nodes", std::move(list)}, {"tls", {{"ca_file", ca_file().string()}}}};
  std::ofstream stream(config_file());
  stream << json.dump(2) << '\n';
  stream.close();
  if (!stream) throw Failure::local("cannot write " + config_file().string());
#endif
}

std::string url_of(const local::ServerSettings& node) {
  if (node.tls) return "rediss://127.0.0.1:" + std::to_string(node.tls->port);
  return "redis://127.0.0.1:" + std::to_string(node.port);
}

fs::path default_cluster_dir() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "quorumlock" / "cluster";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') {
    throw Failure::usage(
        "neither HOME nor XDG_STATE_HOME is set: say with --dir where the nodes "
        "are to keep their data");
  }
  return fs::path(home) / ".local" / "state" / "quorumlock" / "cluster";
}

std::vector<fs::path> make_directories(const fs::path& dir) {
  std::vector<fs::path> made;
  std::error_code error;
  for (fs::path one = dir; !fs::exists(one, error) && one.has_relative_path();
       one = one.parent_path()) {
    made.insert(made.begin(), one);
  }
  fs::create_directories(dir, error);
  if (error || !fs::is_directory(dir)) {
    throw Failure::local("cannot make the directory " + dir.string() + ": " +
                         (error ? error.message() : "a file is in its place"));
  }
  return made;
}

void remove_empty(const std::vector<fs::path>& made) {
  for (auto one = made.rbegin(); one != made.rend(); ++one) remove_if_empty(*one);
}

}  // namespace quorumlock::cli
