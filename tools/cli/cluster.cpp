#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <quorumlock/event.hpp>
#include "cluster_processes.hpp"
#include "cluster_record.hpp"
#include "commands.hpp"
#include "enroll.hpp"
#include "globals.hpp"
#include "local/enroll.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace quorumlock::cli {
namespace {

namespace fs = std::filesystem;
using local::Server;
using local::ServerSettings;

constexpr std::chrono::seconds patience{30};

struct ClusterArguments {
  std::optional<int> size;
  std::optional<int> port;
  std::optional<std::string> dir;
  bool tls = false;

  [[nodiscard]] fs::path directory() const {
    const fs::path path = dir ? fs::path(*dir) : default_cluster_dir();
    // It is written into JSON, and into the list of the nodes.
    if (printable(path.string()) != path.string()) {
      throw Failure::usage("the directory " + path.string() +
                           " has a control character in its name, or a byte that is not UTF-8: " +
                           "choose another --dir");
    }
    return fs::absolute(path).lexically_normal();
  }
};

/// Locks the directory against other `cluster` commands.
class Reservation {
 public:
  explicit Reservation(const fs::path& dir)
      : fd_(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0) throw Failure::system("cannot open the directory " + dir.string());
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
    ::close(fd_);
    throw Failure::local("another quorumlock cluster command is at work in " + dir.string() +
                         ": try again when it is done");
  }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() { ::close(fd_); }

 private:
  int fd_;
};

void show(const Globals& globals, const ClusterRecord& record, const std::vector<bool>& up) {
  const std::vector<ServerSettings> nodes = record.nodes();
  Json list = Json::array();
  std::string text;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const pid_t pid = process_of(nodes[i]);
    const char* state = up[i] ? "answers" : pid != 0 ? "does not answer" : "is not running";
    text += (i == 0 ? "" : "\n") + url_of(nodes[i]) + "  " + state;
    if (pid != 0) text += "  process " + std::to_string(pid);
    Json one = {{"url", url_of(nodes[i])}, {"answers", static_cast<bool>(up[i])}};
    if (pid != 0) one["pid"] = pid;
    one["dir"] = nodes[i].dir.string();
    list.push_back(std::move(one));
  }
  Json all = {{"dir", record.dir.string()}, {"nodes", std::move(list)}};
  if (record.tls) {
    all["ca_file"] = record.ca_file().string();
    all["config_file"] = record.config_file().string();
    text += "\nclients need --config " + record.config_file().string() +
            ", or its tls.ca_file in a configuration of their own";
  }
  if (globals.json) return print(all);
  print(text);
}

void check_ports(const std::vector<ServerSettings>& nodes) {
  for (const ServerSettings& node : nodes) {
    const int port = node.tls ? node.tls->port : node.port;
    if (!local::port_in_use(port)) continue;
    throw Failure::local("port " + std::to_string(port) +
                         " of 127.0.0.1 is in use by another program: end that, or choose other "
                         "ports with --port; nothing was started");
  }
}

/// Starts the nodes that do not run yet, and returns how many these are. If that fails, or a signal
/// ends us, none of these stays.
std::size_t bring_up(const std::vector<ServerSettings>& nodes, Signals& signals) {
  std::vector<ServerSettings> missing;
  for (const ServerSettings& node : nodes) {
    if (process_of(node) == 0) missing.push_back(node);
  }
  check_ports(missing);
  std::vector<Server> servers = Server::start_all(missing, patience);
  if (const int signal = signals.asked_to_end(); signal != 0) {
    servers.clear();  // kills them
    throw Failure::interrupted(signal, "while starting the nodes: none was left running");
  }
  for (Server& server : servers) server.detach();
  return servers.size();
}

/// The options of a client of these nodes.
Options options_of(const Globals& globals, const ClusterRecord& record) {
  Globals given = globals;
  given.nodes.emplace();
  for (const ServerSettings& node : record.nodes()) {
    *given.nodes += (given.nodes->empty() ? "" : ",") + url_of(node);
  }
  Options options = given.options();
  if (record.tls) options.tls = {.ca_file = record.ca_file().string()};
  return options;
}

/// Uses the cluster that the directory has: as it runs, or started again with its data. A node that
/// was started again votes only once every lock that it may have forgotten is over.
int start_again(const Globals& globals, const ClusterArguments& asked, const ClusterRecord& record,
                Signals& signals) {
  const bool other_size = asked.size && *asked.size != record.size;
  if (other_size || (asked.port && *asked.port != record.first_port)) {
    throw Failure::local("in " + record.dir.string() + " there is a cluster of " +
                         std::to_string(record.size) + " nodes from port " +
                         std::to_string(record.first_port) +
                         " on: stop that first, or choose another --dir");
  }
  if (asked.tls && !record.tls) {
    throw Failure::local("the cluster in " + record.dir.string() +
                         " has no TLS: stop that first, or choose another --dir");
  }
  Options options = options_of(globals, record);
  if (const std::size_t started = bring_up(record.nodes(), signals); started > 0) {
    Globals::warn("started " + std::to_string(started) + " of " + std::to_string(record.size) +
                  " nodes again, with their data: they may have forgotten locks and vote once "
                  "max_ttl has passed; waiting for that");
    wait_for_votes(globals, std::move(options), signals);
  }
  show(globals, record, answering(record.nodes()));
  return ExitCode::done;
}

/// Enrols the nodes. With new directories they have nothing to forget, so their votes count at
/// once.
void enroll(const Globals& globals, const ClusterRecord& record) {
  try {
    local::enroll_new(options_of(globals, record));
  } catch (const std::runtime_error& error) {
    throw Failure::local(error.what());
  }
}

/// Starts a new cluster in an empty directory.
void start_new(const Globals& globals, const ClusterRecord& record, Signals& signals) {
  if (!fs::is_empty(record.dir)) {
    throw Failure::local("the directory " + record.dir.string() +
                         " is not empty, and no cluster is in it: choose another --dir");
  }
  check_ports(record.nodes());
  record.save();  // first, so that cluster stop knows what to remove, whatever follows
  try {
    if (record.tls) record.make_tls_files();
    bring_up(record.nodes(), signals);
    enroll(globals, record);
  } catch (...) {
    end_processes(record.nodes());
    (void)record.remove();
    throw;
  }
}

int start(const Globals& globals, const ClusterArguments& asked) {
  ClusterRecord record;
  record.dir = asked.directory();
  record.size = asked.size.value_or(5);
  record.first_port = asked.port.value_or(7101);
  record.tls = asked.tls;
  if (asked.tls && QUORUMLOCK_WITH_TLS == 0) {
    throw Failure::usage("--tls is given, and this quorumlock is built without TLS");
  }
  if (record.first_port + record.size > 65536) {
    throw Failure::usage("--port is " + std::to_string(record.first_port) + ": with " +
                         std::to_string(record.size) + " nodes it must be at most " +
                         std::to_string(65536 - record.size));
  }
  Signals signals;  // from here on signals wait until the cluster is complete or removed
  record.made = make_directories(record.dir);
  try {
    const Reservation reservation(record.dir);
    if (const auto there = ClusterRecord::load(record.dir)) {
      return start_again(globals, asked, *there, signals);
    }
    start_new(globals, record, signals);
  } catch (...) {
    remove_empty(record.made);
    throw;
  }
  show(globals, record, answering(record.nodes()));
  return ExitCode::done;
}

int stop(const Globals& globals, const ClusterArguments& asked) {
  const fs::path dir = asked.directory();
  const std::optional<ClusterRecord> record = ClusterRecord::load(dir);
  int ended = 0;
  Json staying = Json::array();
  if (record) {
    const Reservation reservation(dir);
    ended = end_processes(record->nodes());
    for (const fs::path& path : record->remove()) staying.push_back(path.string());
  }
  if (globals.json) {
    print(Json{{"dir", dir.string()}, {"ended", ended}, {"left_as_not_ours", std::move(staying)}});
    return ExitCode::done;
  }
  if (!record) {
    print("there is no cluster in " + dir.string());
    return ExitCode::done;
  }
  print("ended " + std::to_string(ended) + " nodes and removed their data");
  for (const Json& path : staying) {
    print("left " + path.get<std::string>() + ": something is in it that is not ours");
  }
  return ExitCode::done;
}

int status(const Globals& globals, const ClusterArguments& asked) {
  const fs::path dir = asked.directory();
  const std::optional<ClusterRecord> record = ClusterRecord::load(dir);
  if (!record) {
    throw Failure::local("there is no cluster in " + dir.string() +
                         ": make one with quorumlock cluster start");
  }
  const std::vector<bool> up = answering(record->nodes());
  show(globals, *record, up);
  return std::ranges::count(up, true) == record->size ? ExitCode::done : ExitCode::failed;
}

}  // namespace

void add_cluster(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<ClusterArguments>();
  CLI::App& cluster =
      *app.add_subcommand("cluster", "run Redis nodes on this machine: start, stop, status");
  cluster.require_subcommand(1);
  globals.add_flags_to(cluster);
  const auto add = [&, asked](const char* name, const char* help,
                              int (*action)(const Globals&, const ClusterArguments&)) -> CLI::App& {
    CLI::App& command = *cluster.add_subcommand(name, help);
    command
        .add_option_function<std::string>(
            "--dir", [asked](const std::string& dir) { asked->dir = dir; },
            "where the nodes keep their data; by default quorumlock/cluster in $XDG_STATE_HOME, "
            "which is ~/.local/state if it is not set")
        ->type_name("DIR");
    globals.add_flags_to(command);
    command.callback(
        [=, &globals, &chosen] { chosen = [=, &globals] { return action(globals, *asked); }; });
    return command;
  };
  CLI::App& starting = add(
      "start", "start durable nodes and wait until they vote; those that run already stay", start);
  starting
      .add_option_function<int>(
          "--size", [asked](int size) { asked->size = size; }, "how many nodes, 5 by default")
      ->check(CLI::Range(1, 32))
      ->type_name("N");
  starting
      .add_option_function<int>(
          "--port", [asked](int port) { asked->port = port; },
          "the first node's port, 7101 by default; the others' follow it")
      ->check(CLI::Range(1, 65535))
      ->type_name("P");
  starting.add_flag_callback(
      "--tls", [asked] { asked->tls = true; },
      "the nodes speak TLS only, with certificates of an authority of their own");
  add("stop", "end the nodes and remove their data", stop);
  add("status", "show the nodes; ends with 1 unless all of them answer", status);
}

}  // namespace quorumlock::cli
