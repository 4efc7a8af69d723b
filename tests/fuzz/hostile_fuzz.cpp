#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fuzz/good_server.hpp"
#include "fuzz/require.hpp"
#include "loop/events.hpp"
#include "loop/session.hpp"
#include "support/allocated.hpp"
#include "support/seeded_random.hpp"
#include "verbs/scripts.hpp"
#include "wire/words.hpp"

// One hostile node of three, below a whole session whose users wait for locks that another client
// holds. The other two are honest. The input is what the hostile node sends, except for some bytes
// that are orders:
//
//   FF      the end of what comes in one read
//   FE n    the bytes since the last read come 2^(n mod 13) times, in a read each
//   FD      the node answers all that it was asked, and honestly
//   FC      what follows comes on the connection for commands, FB on the one for messages
//   FA      time passes until something is due
//   F9      a user asks for another lock, in order or not in turn
//   F8      an operator asks the node a question
//   F7      the node closes both connections
//   EF b    the byte b itself
//
// What the node makes us hold is bounded in bytes, and so is what it makes us ask of the others.
namespace quorumlock::fuzz {
namespace {

using detail::Session;
using detail::subscriber_of;

constexpr int nodes = 3;
constexpr int hostile = 2;

constexpr std::size_t most_fed = 24 << 20;  // beyond most_memory
constexpr std::size_t most_reads = 20'000;  // keeps the time for one input short
constexpr int most_users = 8;
/// The memory of the session with its two connections to the hostile node: two replies of the
/// greatest size that are being read, the buffers that grew for them, and what the users' waiting
/// costs.
constexpr std::size_t most_memory = 16U << 20;
/// Commands to an honest node before time passes or a user asks for something: the greeting, the
/// first attempt of each user, and an attempt when an answer decides it.
constexpr int most_commands = 60;

struct Wall final : core::WallClock {
  std::int64_t now_us() override { return 1'700'000'000'000'000; }
};

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

/// What an honest node answers: another client holds each lock, and our waiters are first in line.
std::string honest_answer(const std::string& command, int node) {
  const std::string name = "n" + std::to_string(node + 1);
  if (command == "MGET quorumlock:enrolment quorumlock:members") {
    const redis::Membership its = test::founded(name, {"n1", "n2", "n3"});
    const std::string record = "run" + name + ":abc@";
    return "*2\r\n" + bulk(test::with_mark(record, its)) + bulk(its.text());
  }
  if (command == "INFO replication") return bulk("role:master\r\nconnected_slaves:0\r\n");
  if (command == "INFO server") return bulk("redis_mode:standalone\r\nrun_id:run" + name + "\r\n");
  if (command.starts_with("EVALSHA " + std::string(redis::queue_script.sha1))) {
    return "*5\r\n:0\r\n:0\r\n$5\r\ntoken\r\n:1000\r\n:5\r\n";
  }
  if (command.starts_with("EVAL")) {
    return "*6\r\n:0\r\n:41\r\n:1700000000000000\r\n:1000\r\n:5\r\n$5\r\ntoken\r\n";
  }
  if (command.starts_with("SUBSCRIBE ")) {
    return "*3\r\n" + bulk("subscribe") + bulk(command.substr(10)) + ":1\r\n";
  }
  return good_answer(command);
}

Session::Config config() {
  using std::chrono::milliseconds;
  Session::Config config{.engine = {.nodes = nodes,
                                    .retry_delay = milliseconds(50),
                                    .retry_jitter = milliseconds(50),
                                    .fencing = true,
                                    .max_ttl = std::chrono::seconds(30)},
                         .links = {}};
  for (int node = 1; node <= nodes; ++node) {
    const std::string name = "n" + std::to_string(node);
    config.links.push_back({{.host = name, .login = {"user", "pass"}},
                            milliseconds(500),
                            std::chrono::seconds(2),
                            {.node = name}});
  }
  return config;
}

class World {
 public:
  World() {
    session_.start(now_);
    pull();
  }

  void run(std::string_view input) {
    for (std::size_t i = 0; i < input.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(input[i]);
      const auto argument = [&] {
        return static_cast<std::uint8_t>(++i < input.size() ? input[i] : 0);
      };
      switch (byte) {
        case 0xFF: read(1); break;
        case 0xFE: read(std::size_t{1} << argument() % 13); break;
        case 0xFD:
          flush();
          be_honest();
          break;
        case 0xFC:
          flush();
          wire_ = hostile;
          break;
        case 0xFB:
          flush();
          wire_ = subscriber_of(hostile);
          break;
        case 0xFA:
          flush();
          pass();
          break;
        case 0xF9:
          flush();
          acquire();
          break;
        case 0xF8:
          flush();
          ask();
          break;
        case 0xF7:
          flush();
          close(hostile);
          close(subscriber_of(hostile));
          break;
        case 0xEF: chunk_ += static_cast<char>(argument()); break;
        default: chunk_ += input[i];
      }
    }
    flush();
  }
  void stop() {
    session_.stop(now_);
    pull();
  }
  [[nodiscard]] bool is_up(int node) const {
    return session_.link(node).state() == core::LinkState::up;
  }
  [[nodiscard]] bool listens() const { return listens_; }

 private:
  void flush() {
    if (!chunk_.empty()) read(1);
  }
  void read(std::size_t times) {
    for (; times > 0 && fed_ + chunk_.size() <= most_fed && reads_ < most_reads; --times) {
      fed_ += chunk_.size();
      ++reads_;
      feed(wire_, chunk_);
    }
    chunk_.clear();
  }
  void feed(int wire, std::string_view bytes) {
    session_.wire(wire).on_bytes(bytes);
    session_.touched(wire);
    pull();
  }
  void be_honest() {
    for (int turns = 0; turns < 4; ++turns) {
      for (const int wire : {hostile, subscriber_of(hostile)}) {
        std::vector<std::string> commands;
        commands.swap(asked_[wire == hostile ? 0 : 1]);
        for (const std::string& command : commands) feed(wire, honest_answer(command, hostile));
      }
    }
  }
  void pass() {
    if (session_.deadline() == core::never) return;
    commands_ = 0;
    now_ = std::max(now_, session_.deadline());
    session_.advance(now_);
    pull();
  }
  void acquire() {
    if (users_ == most_users) return;
    commands_ = 0;
    const std::string key = "key" + std::to_string(++users_);
    session_.engine().acquire(now_, {key,
                                     {.ttl = std::chrono::seconds(10)},
                                     now_ + std::chrono::hours(1),
                                     true,
                                     1,
                                     users_ % 2 != 0});
    pull();
  }
  void ask() {
    std::string bytes;
    redis::append_command(bytes, {"INFO"});
    session_.ask(now_, hostile, {{1, 0}, 1, core::CommandKind::query, false}, bytes);
    pull();
  }
  void close(int wire) {
    session_.wire(wire).on_closed(now_, "closed by the server");
    asked_[wire == hostile ? 0 : 1].clear();
    session_.touched(wire);
    pull();
  }

  void pull() {
    for (bool more = true; std::exchange(more, false);) {
      while (const auto output = session_.next(now_)) {
        std::visit([&](const auto& what) { take(what); }, *output);
      }
      session_.each_wire_in_use([&](int wire) { more = hear(wire) || more; });
    }
    const std::size_t held = test::allocated();
    most_held_ = std::max(most_held_, held - std::min(before_, held));
    require(most_held_ <= most_memory, "the memory is not bounded");
    require(commands_ <= most_commands, "one node makes us ask the others again and again");
  }
  /// The node at the other end of this wire reads its commands, and an honest one answers them.
  bool hear(int wire) {
    redis::Wire& its = session_.wire(wire);
    if (its.output().empty()) return false;
    std::vector<std::string> commands = commands_in(its.output());
    its.wrote(its.output().size());
    const int node = detail::node_of(wire);
    if (node == hostile) {
      std::vector<std::string>& asked = asked_[wire == hostile ? 0 : 1];
      const std::size_t room = 1000 - std::min<std::size_t>(asked.size(), 1000);
      commands.resize(std::min(commands.size(), room));
      for (std::string& command : commands) asked.push_back(command.substr(0, 200));
      return false;
    }
    if (node == 0) commands_ += static_cast<int>(commands.size());
    for (const std::string& command : commands) {
      listens_ = listens_ || command.starts_with("SUBSCRIBE");
      its.on_bytes(honest_answer(command, node));
      session_.touched(wire);
    }
    return true;
  }
  void take(const Session::Connect& connect) {
    session_.wire(connect.wire).on_open();
    session_.touched(connect.wire);
  }
  void take(const Session::Disconnect& disconnect) {
    if (detail::node_of(disconnect.wire) == hostile) {
      asked_[disconnect.wire == hostile ? 0 : 1].clear();
    }
  }
  /// What users are told of it is printable, and so is what the status says meanwhile.
  template <class T>
  void take(const T& output) {
    if constexpr (detail::is_only_an_event<T>) {
      events_.take(now_, output);
      events_.deliver(now_);
      const std::string trouble = session_.trouble(now_, hostile);
      if (!trouble.empty()) require_sentence(trouble);
    }
  }
  Options telling() {
    Options options;
    options.on_event = [](const Event& event) {
      require_sentence(event.node + event.reason);
      require_sentence(to_string(event));
    };
    return options;
  }

  const std::size_t before_ = test::allocated();
  test::SeededRandom random_;
  Wall wall_;
  core::Time now_ = core::Time(std::chrono::hours(1));
  Session session_{config(), random_, wall_};
  const Options options_ = telling();
  const detail::NodeList list_;
  detail::Events events_{options_, session_, list_, wall_};
  std::array<std::vector<std::string>, 2> asked_;  ///< the hostile node's, by connection
  int wire_ = hostile;
  int users_ = 0;
  int commands_ = 0;
  bool listens_ = false;
  std::string chunk_;
  std::size_t fed_ = 0;
  std::size_t reads_ = 0;
  std::size_t most_held_ = 0;
};

/// Checks that the honest nodes bring everything up; without that the inputs are worth little.
bool check_honest() {
  World world;
  world.run("\xFD\xF9\xF9\xFD");
  for (int node = 0; node < nodes; ++node) {
    require(world.is_up(node), "an honest node does not come up: honest_answer() is too little");
  }
  require(world.listens(), "a waiter does not listen for messages");
  return true;
}

}  // namespace
}  // namespace quorumlock::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace quorumlock::fuzz;
  static const bool checked = check_honest();
  World world;
  require(checked, "");
  world.run({reinterpret_cast<const char*>(data), size});
  world.stop();
  return 0;
}
