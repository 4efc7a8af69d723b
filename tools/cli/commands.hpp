#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace quorumlock::cli {

struct Globals;

/// The chosen command: returns the exit code, throws Failure.
using Action = std::function<int()>;

// Each function adds its command; parsing a command line with that command sets `chosen`.
void add_run(CLI::App& app, Globals& globals, Action& chosen);
void add_leader(CLI::App& app, Globals& globals, Action& chosen);
void add_observe(CLI::App& app, Globals& globals, Action& chosen);
void add_acquire(CLI::App& app, Globals& globals, Action& chosen);
void add_extend(CLI::App& app, Globals& globals, Action& chosen);
void add_release(CLI::App& app, Globals& globals, Action& chosen);
void add_inspect(CLI::App& app, Globals& globals, Action& chosen);
void add_locks(CLI::App& app, Globals& globals, Action& chosen);
void add_status(CLI::App& app, Globals& globals, Action& chosen);
void add_doctor(CLI::App& app, Globals& globals, Action& chosen);
void add_enroll(CLI::App& app, Globals& globals, Action& chosen);
void add_members(CLI::App& app, Globals& globals, Action& chosen);
void add_serve(CLI::App& app, Globals& globals, Action& chosen);
void add_cluster(CLI::App& app, Globals& globals, Action& chosen);
void add_bench(CLI::App& app, Globals& globals, Action& chosen);

}  // namespace quorumlock::cli
