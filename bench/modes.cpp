#include "modes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "allocations.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

/// Returns the resident memory of this process in KiB, from /proc.
long resident_kib() {
  long kib = -1;
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, status) != nullptr) {
      if (std::sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    }
    std::fclose(status);
  }
  return kib;
}

/// Measures each contender's cycles at this load, in turns of about a twentieth of a second in both
/// orders, so that other load on the machine affects all contenders.
std::vector<Measurement> take_turns(Field& field, const Load& load) {
  constexpr int turns = 6;
  const std::size_t size = field.members.size();
  std::vector<Measurement> results(size);
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t whose = turn % 2 == 0 ? i : size - 1 - i;
      const Member& member = field.members[whose];
      Contender& contender = *member.contender;
      run_cycles(contender, load.in_flight, load.cycles / 100 + load.in_flight);
      const Work before = member.nodes->work();
      Measurement turn_of = run_cycles(contender, load.in_flight, load.cycles / turns + 1);
      const Work after = member.nodes->work();
      turn_of.servers = {after.cpu_us - before.cpu_us, after.bytes - before.bytes,
                         after.script_us - before.script_us, after.command_us - before.command_us};
      results[whose].add(turn_of);
    }
  }
  return results;
}

void print_round(int round, const Load& load, const Member& member, const Measurement& of) {
  const auto nodes = static_cast<double>(member.nodes->count());
  std::printf(
      R"({"round":%d,"contender":"%s","in_flight":%d,"cycles":%lld,"cycles_per_s":%.1f,)"
      R"("cpu_us":%.4f,"user_us":%.4f,"acquire_p50_us":%.2f,"acquire_p99_us":%.2f,)"
      R"("acquire_p999_us":%.2f,"release_p50_us":%.2f,"release_p99_us":%.2f,)"
      R"("release_p999_us":%.2f,"allocations":%.5f,"server_us":%.3f,"bytes":%.1f,"script_us":%.3f,)"
      R"("command_us":%.3f})"
      "\n",
      round, member.name.c_str(), load.in_flight, static_cast<long long>(of.cycles), of.rate(),
      of.cpu_us(), of.per_cycle(of.user_us), percentile_us(of.acquire_ns, 0.5),
      percentile_us(of.acquire_ns, 0.99), percentile_us(of.acquire_ns, 0.999),
      percentile_us(of.release_ns, 0.5), percentile_us(of.release_ns, 0.99),
      percentile_us(of.release_ns, 0.999),
      allocations_counted() ? of.per_cycle(static_cast<double>(of.allocations)) : -1.0,
      of.per_cycle(of.servers.cpu_us), of.per_cycle(of.servers.bytes),
      of.per_cycle(of.servers.script_us / nodes), of.per_cycle(of.servers.command_us / nodes));
  std::fflush(stdout);
}

void say(bool good, std::string_view contender, const char* what) {
  std::printf("%s: %.*s: %s\n", good ? "ok" : "FAILED", static_cast<int>(contender.size()),
              contender.data(), what);
}

/// Turns the contender's loop until `is_so`, which should be almost at once: a decision does not
/// wait for the last two nodes.
template <class F>
bool soon(Contender& contender, F&& is_so) {
  for (int tries = 0; tries < 500; ++tries) {
    if (is_so()) return true;
    idle(contender, 10);
  }
  return false;
}

/// Acquires and releases one lock, step by step.
class OneLock final : public Client {
 public:
  explicit OneLock(Member& member) : contender_(*member.contender), nodes_(*member.nodes) {}

  bool check() {
    contender_.serve(*this);
    contender_.prepare(1);
    contender_.acquire(0);
    while (!acquired_) uv_run(contender_.loop(), UV_RUN_ONCE);
    const bool held = granted_ && soon(contender_, [this] {
                        return nodes_.holding(contender_.key_pattern(0)) == nodes_.count();
                      });
    say(held, contender_.name(), "a lock has its token on all nodes");
    contender_.release(0);
    while (!released_) uv_run(contender_.loop(), UV_RUN_ONCE);
    const bool gone = done_ && soon(contender_, [this] {
                        return nodes_.keys() == 0 && nodes_.holding(contender_.key_pattern(0)) == 0;
                      });
    say(gone, contender_.name(), "it is gone after its release");
    return held && gone;
  }

 private:
  void acquired(int, bool granted) override {
    acquired_ = true;
    granted_ = granted;
  }
  void released(int, bool done) override {
    released_ = true;
    done_ = done;
  }

  Contender& contender_;
  const Nodes& nodes_;
  bool acquired_ = false, granted_ = false, released_ = false, done_ = false;
};

}  // namespace

std::int64_t usual_cycles(int in_flight) {
  return in_flight == 1 ? 2500 : in_flight <= 16 ? 15000 : 30000;
}

void print_rounds(Field& field, const std::vector<Load>& loads, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const Load& load : loads) {
      const std::vector<Measurement> results = take_turns(field, load);
      for (std::size_t i = 0; i < results.size(); ++i) {
        print_round(round, load, field.members[i], results[i]);
      }
    }
  }
}

void print_memory(Field& field, std::int64_t cycles) {
  constexpr int in_flight = 64;
  constexpr std::int64_t part = 10'000;
  for (const Member& member : field.members) {
    Contender& contender = *member.contender;
    for (int i = 0; i < 10; ++i) run_cycles(contender, in_flight, part);
    std::printf(R"({"contender":"%s","cycles":%lld,"resident_kib":[%ld)", member.name.c_str(),
                static_cast<long long>(cycles), resident_kib());
    std::uint64_t blocks = 0;
    std::int64_t done = 0;
    for (int quarter = 1; quarter <= 4; ++quarter) {
      for (; done < quarter * cycles / 4; done += part) {
        blocks += run_cycles(contender, in_flight, part).allocations;
      }
      std::printf(",%ld", resident_kib());
    }
    std::printf(R"(],"allocations":%llu})"
                "\n",
                static_cast<unsigned long long>(blocks));
    std::fflush(stdout);
  }
}

bool smoke(Field& field) {
  bool good = true;
  for (Member& member : field.members) {
    Contender& contender = *member.contender;
    good &= OneLock(member).check();
    const Measurement of = run_cycles(contender, 16, 480);
    const bool all =
        of.cycles == 480 && soon(contender, [&member] { return member.nodes->keys() == 0; });
    say(all, contender.name(), "480 cycles at 16 in flight leave no key");
    good &= all;
  }
  return good;
}

}  // namespace quorumlock::bench
