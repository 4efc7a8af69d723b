// Measures the cost of a lock in the library itself: `guard KIND IN_FLIGHT CYCLES CLASSES`. A
// session acquires and releases locks on five nodes that are only prepared replies: without
// sockets, servers and clocks the instructions of a cycle are the same on every run. The kinds are
// plain, fenced, permit (of a semaphore with 64) and search: a permit that is granted in the second
// round, since in the first all nodes report that its slot is taken, and which later one is free.
// CLASSES is the number of Options::resource_classes.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/allocations.hpp"
#include "loop/session.hpp"
#include "support/link_driver.hpp"
#include "verbs/acquire.hpp"

namespace quorumlock::test {
namespace {

constexpr int nodes = 5;

/// Counts, since owner tokens only have to differ.
class CountingRandom final : public core::Random {
 public:
  void fill(std::span<std::byte> bytes) override {
    std::uint64_t number = ++last_;
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(number & 0xFFU);
      number >>= 8U;
    }
  }

 private:
  std::uint64_t last_ = 0;
};

struct StoppedWall final : core::WallClock {
  std::int64_t now_us() override { return 1'700'000'000'000'000; }
};

class Guard {
 public:
  Guard(std::string_view kind, int in_flight, int classes)
      : fencing_(kind != "plain"),
        searches_(kind == "search"),
        capacity_(kind == "permit" || kind == "search" ? 64 : 0),
        session_(config(fencing_, classes), random_, wall_) {
    for (int slot = 0; slot < in_flight; ++slot) {
      keys_.push_back(capacity_ != 0 ? "quorumlock:semaphore:guard"
                                     : "guard/" + std::to_string(slot));
    }
    claims_.resize(keys_.size());
    session_.start(now_);
    pull();
    replies_ = "+OK\r\n";  // the reply to CLIENT SETNAME on each connection
    tell();
  }

  void cycles(int count) {
    for (int done = 0; done < count; done += static_cast<int>(keys_.size())) turn();
  }
  [[nodiscard]] std::uint64_t acquired() const { return acquired_; }

 private:
  static detail::Session::Config config(bool fencing, int classes) {
    // All locks go out in one turn, and the replies are prepared for that.
    detail::Session::Config config{
        .engine = {.nodes = nodes, .fencing = fencing, .first_window = 6400}, .links = {}};
    // The locks' names begin like these classes, but no lock belongs to one of them.
    for (int i = 0; i < classes; ++i)
      config.engine.classes.prefixes.push_back("guard:" + std::to_string(i) + ":");
    for (int node = 1; node <= nodes; ++node) {
      const std::string name = "n" + std::to_string(node);
      config.links.push_back({{.host = name}, 500ms, 2s, {.node = name}});
    }
    return config;
  }

  /// Acquires all locks at once, then releases all.
  void turn() {
    now_ += 50us;
    for (std::size_t slot = 0; slot < keys_.size(); ++slot) {
      core::AcquireRequest request{keys_[slot], {.ttl = 10s, .stop_margin = 1s}, now_, false, slot};
      request.capacity = capacity_;
      session_.engine().acquire(now_, request);
    }
    if (searches_) {
      vote("*6\r\n:0\r\n:");
      put(-1, ":");
      put(0, ":");
      put(1 + fence_ % capacity_, ":");
      answer(reply_);
    }
    const bool together = capacity_ == 0 && keys_.size() > 1;
    if (fencing_) {
      ++fence_;
      if (together) {
        replies_.clear();
        for (std::size_t left = keys_.size(); left > 0; left -= batch_of(left)) {
          acquisitions();
        }
        tell();
      } else {
        granted_alone();
      }
    } else {
      answer("+OK\r\n");
    }
    now_ += 50us;
    for (const core::ClaimId claim : claims_) session_.engine().release(now_, claim, true);
    if (!together) return answer(capacity_ == 0 ? "*1\r\n:1\r\n" : ":1\r\n");
    replies_.clear();
    for (std::size_t left = keys_.size(); left > 0; left -= batch_of(left)) {
      reply_.clear();
      put(static_cast<std::int64_t>(batch_of(left)), "*");
      replies_ += reply_;
      for (std::size_t i = 0; i < batch_of(left); ++i) replies_ += ":1\r\n";
    }
    tell();
  }
  static std::size_t batch_of(std::size_t left) {
    return std::min(left, redis::acquire::batch.most);
  }
  /// Appends the reply to a batch of acquisitions.
  void acquisitions() {
    reply_.clear();
    put(2, "*");
    put(wall_.now_us() + core::microseconds_of(now_), ":");
    put(static_cast<std::int64_t>(fence_), ":");
    replies_ += reply_;
  }
  void granted_alone() {
    if (capacity_ == 0) {
      replies_.clear();
      acquisitions();
      return tell();
    }
    // A refused attempt is released before the next one.
    vote(searches_ ? ":0\r\n*3\r\n:1\r\n:" : "*3\r\n:1\r\n:");
    answer(reply_);
  }
  /// Begins a vote, up to the fencing counter and the node's time.
  void vote(std::string_view begins) {
    reply_.assign(begins);
    put(fence_);
    put(wall_.now_us() + core::microseconds_of(now_), ":");
  }
  void put(std::int64_t number, std::string_view before = "") {
    char digits[24];
    reply_.append(before);
    reply_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    reply_.append("\r\n");
  }

  /// Gives each node's requests this answer, as if in one read.
  void answer(std::string_view one) {
    replies_.clear();
    for (std::size_t slot = 0; slot < keys_.size(); ++slot) replies_.append(one);
    tell();
  }
  void tell() {
    pull();
    for (int node = 0; node < nodes; ++node)
      session_.link(node).wrote(session_.link(node).output().size());
    for (int node = 0; node < nodes; ++node) {
      session_.link(node).on_bytes(replies_);
      session_.touched(node);
      pull();
    }
  }

  void pull() {
    while (std::optional<detail::Session::Output> output = session_.next(now_)) {
      if (const auto* acquired = std::get_if<core::Acquired>(&*output)) {
        ++acquired_;
        claims_[acquired->user] = acquired->claim;
        session_.engine().adopt(acquired->claim, acquired->user);
      } else if (const auto* connect = std::get_if<detail::Session::Connect>(&*output)) {
        greet(connect->wire);
      } else if (const auto* refused = std::get_if<core::Refused>(&*output)) {
        std::fprintf(stderr, "guard: a lock was refused: %s\n",
                     make_error_code(refused->why).message().c_str());
        std::exit(1);
      }
    }
  }
  void greet(int wire) {
    redis::Link& link = session_.link(wire);
    LinkDriver::Server server;
    server.run_id = "run" + std::to_string(wire);
    server.enrolment = server.run_id + ":abc@";
    server.members = founded("n" + std::to_string(wire + 1), {"n1", "n2", "n3", "n4", "n5"});
    link.on_open();
    const std::vector<std::string> commands = LinkDriver::commands_in(link.output());
    link.wrote(link.output().size());
    for (const std::string& command : commands)
      link.on_bytes(LinkDriver::answer_to(command, server));
    session_.touched(wire);
  }

  bool fencing_;
  bool searches_;
  int capacity_;
  CountingRandom random_;
  StoppedWall wall_;
  detail::Session session_;
  core::Time now_ = core::Time(1h);
  std::vector<std::string> keys_;
  std::vector<core::ClaimId> claims_;
  std::string reply_;
  std::string replies_;
  std::int64_t fence_ = 1'700'000'000'000'000;
  std::uint64_t acquired_ = 0;
};

}  // namespace
}  // namespace quorumlock::test

int main(int argc, char** argv) {
  using namespace quorumlock;
  if (argc != 5) {
    std::fputs("usage: guard plain|fenced|permit|search IN_FLIGHT CYCLES CLASSES\n", stderr);
    return 64;
  }
  const int in_flight = std::atoi(argv[2]);
  const int cycles = std::atoi(argv[3]);
  test::Guard guard(argv[1], in_flight, std::atoi(argv[4]));
  guard.cycles(20 * in_flight);  // warm
  const std::uint64_t before = bench::allocations();
  guard.cycles(cycles);
  std::printf("{\"cycles\":%d,\"acquired\":%llu,\"allocations\":%llu}\n", cycles,
              static_cast<unsigned long long>(guard.acquired()),
              static_cast<unsigned long long>(bench::allocations() - before));
  return 0;
}
