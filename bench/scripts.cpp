#include "scripts.hpp"

#include <hiredis/hiredis.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "local/server.hpp"
#include "local/temporary_directory.hpp"
#include "redis/command.hpp"
#include "redis/keys.hpp"
#include "script_forms.hpp"
#include "workload.hpp"

namespace quorumlock::bench {
namespace {

using Words = std::vector<std::string>;

/// As long as a real one: run id, max_ttl, whether it is durable.
const std::string record = std::string(40, 'e') + ":30000:durable";
const std::string enrolment(redis::enrolment_key);

/// A client's clock, in us since 1970, as it was a moment ago.
const std::int64_t wall_us = std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
const std::string wall = std::to_string(wall_us);

std::string lock_key(int slot) {
  return "bench/s/" + std::to_string(slot);
}
std::string counter_key(int slot) {
  return std::string(redis::counter_prefix) + lock_key(slot);
}

struct Free {
  void operator()(redisContext* context) const { redisFree(context); }
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using Answer = std::unique_ptr<redisReply, Free>;

/// Forgets what a reply says, but whether it is an error.
redisReplyObjectFunctions count_only{
    [](const redisReadTask* task, char*, std::size_t) {
      return reinterpret_cast<void*>(task->type == REDIS_REPLY_ERROR ? 2 : 1);
    },
    [](const redisReadTask*, int) { return reinterpret_cast<void*>(1); },
    [](const redisReadTask*, long long) { return reinterpret_cast<void*>(1); },
    [](const redisReadTask*) { return reinterpret_cast<void*>(1); },
    [](void*) {},
};

/// One redis-server without persistence, and one blocking connection to it.
class OneServer {
 public:
  OneServer()
      : server_(local::Server::start(
            {.dir = dir_.path(), .port = local::free_port(), .durable = false, .more = {}})),
        context_(redisConnect("127.0.0.1", server_.settings().port)),
        reader_(redisReaderCreateWithFunctions(&count_only)) {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no connection");
    ask({"SET", enrolment, record});
  }

  Answer ask(const Words& words) {
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Answer answer(static_cast<redisReply*>(redisCommandArgv(
        context_.get(), static_cast<int>(words.size()), texts.data(), sizes.data())));
    if (answer == nullptr) throw std::runtime_error("the server does not answer");
    return answer;
  }

  /// The SHA1 of a script that is there now.
  std::string load(std::string_view source) {
    const Answer answer = ask({"SCRIPT", "LOAD", std::string(source)});
    if (answer->type != REDIS_REPLY_STRING) throw std::runtime_error(answer->str);
    return {answer->str, answer->len};
  }

  void send(const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t sent = ::send(context_->fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the server takes no more");
      at += static_cast<std::size_t>(sent);
    }
  }
  void receive(int replies) {
    while (replies > 0) {
      void* reply = nullptr;
      if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) throw std::runtime_error("RESP");
      if (reply == reinterpret_cast<void*>(2)) throw std::runtime_error("an error reply");
      if (reply != nullptr) {
        --replies;
        continue;
      }
      char bytes[1 << 16];
      const ssize_t size = ::recv(context_->fd, bytes, sizeof bytes, 0);
      if (size <= 0) throw std::runtime_error("the server has gone");
      redisReaderFeed(reader_.get(), bytes, static_cast<std::size_t>(size));
    }
  }

  /// User and system time of the server so far, in microseconds.
  double cpu_us() {
    const Answer answer = ask({"INFO", "cpu"});
    double sum = 0;
    for (const std::string name : {"\nused_cpu_sys:", "\nused_cpu_user:"}) {
      const std::string text(answer->str, answer->len);
      sum += std::stod(text.substr(text.find(name) + name.size()));
    }
    return 1e6 * sum;
  }

 private:
  local::TemporaryDirectory dir_;
  local::Server server_;
  std::unique_ptr<redisContext, Free> context_;
  std::unique_ptr<redisReader, Free> reader_;
};

/// A form, loaded into the server.
class Loaded {
 public:
  Loaded(OneServer& server, const Form& form) : form_(form) {
    if (!form.acquire_script.empty()) acquire_ = server.load(form.acquire_script);
    if (!form.release_script.empty()) release_ = server.load(form.release_script);
    if (!form.library.empty()) {
      const Answer answer = server.ask({"FUNCTION", "LOAD", "REPLACE", std::string(form.library)});
      if (answer->type == REDIS_REPLY_ERROR) throw std::runtime_error(answer->str);
    }
  }

  [[nodiscard]] const Form& form() const { return form_; }
  [[nodiscard]] std::vector<Words> acquire(int slot) const { return commands(form_.acquire, slot); }
  [[nodiscard]] std::vector<Words> release(int slot) const { return commands(form_.release, slot); }

 private:
  [[nodiscard]] std::vector<Words> commands(std::string_view lines, int slot) const {
    std::vector<Words> commands;
    std::istringstream in{std::string(lines)};
    for (std::string line; std::getline(in, line);) {
      Words words;
      std::istringstream of(line);
      for (std::string word; of >> word;) words.push_back(word_of(word, slot));
      commands.push_back(std::move(words));
    }
    return commands;
  }
  [[nodiscard]] std::string word_of(const std::string& word, int slot) const {
    if (word == "$acquire") return acquire_;
    if (word == "$release") return release_;
    if (word == "$lock") return lock_key(slot);
    if (word == "$counter") return counter_key(slot);
    if (word == "$enrolment") return enrolment;
    if (word == "$token") return std::string(40, 'a');
    if (word == "$record") return record;
    if (word == "$wall") return wall;
    return word;
  }

  const Form& form_;
  std::string acquire_, release_;
};

// Measuring.

/// So many locks in a burst: all are acquired, then all released.
constexpr int burst = 64;

struct Burst {
  std::string bytes;
  int replies = 0;

  Burst() = default;
  explicit Burst(const Loaded& form) {
    for (int slot = 0; slot < burst; ++slot) add(form.acquire(slot));
    for (int slot = 0; slot < burst; ++slot) add(form.release(slot));
  }
  void add(const std::vector<Words>& commands) {
    for (const Words& words : commands) {
      redis::append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
      ++replies;
    }
  }
};

struct Cost {
  double seconds = 0;
  double cpu_us = 0;
};

/// Two bursts are under way at any time, so that the server always has the next.
Cost measure(OneServer& server, const Burst& load, int bursts) {
  const double before = server.cpu_us();
  const auto start = std::chrono::steady_clock::now();
  server.send(load.bytes);
  for (int i = 0; i < bursts; ++i) {
    if (i + 1 < bursts) server.send(load.bytes);
    server.receive(load.replies);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {seconds.count(), server.cpu_us() - before};
}

/// The median time from an acquire to its answer, one after the other.
double alone_us(OneServer& server, const Loaded& form, int cycles) {
  Burst acquire, release;
  acquire.add(form.acquire(0));
  release.add(form.release(0));
  std::vector<std::uint32_t> samples;
  for (int i = 0; i < cycles; ++i) {
    const auto start = std::chrono::steady_clock::now();
    server.send(acquire.bytes);
    server.receive(acquire.replies);
    samples.push_back(
        static_cast<std::uint32_t>((std::chrono::steady_clock::now() - start).count()));
    server.send(release.bytes);
    server.receive(release.replies);
  }
  return percentile_us(std::move(samples), 0.5);
}

// Checking.

std::string text_of(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_INTEGER: return ':' + std::to_string(reply.integer);
    case REDIS_REPLY_NIL: return "nil";
    case REDIS_REPLY_ARRAY: {
      std::string text = "[";
      // The third is the node's clock, the fourth what is left of the lock's life. The fifth, which
      // acquire.lua has for who would enter the line, is not compared.
      for (std::size_t i = 0; i < std::min<std::size_t>(reply.elements, 4); ++i) {
        const bool ahead = i == 1 && reply.elements > 2 &&
                           reply.element[1]->integer == reply.element[2]->integer + 60'000'000;
        text += ahead ? "time + 60 s " : i < 2 ? text_of(*reply.element[i]) + " " : "time ";
      }
      return text + "]";
    }
    case REDIS_REPLY_ERROR: {
      const std::string text(reply.str, reply.len);
      return text.substr(0, text.find(" script: "));  // behind it is which one
    }
    default: return {reply.str, reply.len};
  }
}

/// What is so before an acquire, as commands, and with which arguments it is asked.
struct Situation {
  const char* name;
  std::vector<Words> before;
  std::vector<std::pair<std::string, std::string>> instead;  ///< of words in the form's request
};

const std::vector<Situation>& situations() {
  static const std::string lock = lock_key(0), counter = counter_key(0);
  static const std::string most = "9007199254740991";
  static const std::vector<Situation> all{
      {"new", {}, {}},
      {"counted before", {{"SET", counter, "17"}}, {}},
      {"counted beyond the wall clock", {{"SET", counter, "8007199254740991"}}, {}},
      {"at the limit", {{"SET", counter, most}}, {}},
      {"held", {{"SET", lock, "another's", "PX", "5000"}, {"SET", counter, "17"}}, {}},
      {"held, never counted", {{"SET", lock, "another's", "PX", "5000"}}, {}},
      {"held without end", {{"SET", lock, "another's"}}, {}},
      {"another kind of value", {{"RPUSH", lock, "a"}}, {}},
      {"a counter of another kind", {{"RPUSH", counter, "a"}}, {}},
      {"another enrolment", {{"SET", enrolment, "another"}}, {}},
      {"no enrolment", {{"DEL", enrolment}}, {}},
      {"a greater fence seen", {}, {{"0", "8007199254740991"}}},
      {"a clock an hour ahead", {}, {{wall, std::to_string(wall_us + 3'600'000'000)}}},
      {"the same seen and counted",
       {{"SET", counter, "8007199254740991"}},
       {{"0", "8007199254740991"}}},
  };
  return all;
}

/// What the replies are and what stands there afterwards.
std::string behaviour(OneServer& server, const Loaded& form, const Situation& situation) {
  server.ask({"FLUSHALL"});
  server.ask({"SET", enrolment, record});
  for (const Words& words : situation.before) server.ask(words);
  std::string said;
  std::string fence;
  for (Words words : form.acquire(0)) {
    for (const auto& [from, to] : situation.instead) {
      for (std::string& word : words) {
        if (word == from) word = to;
      }
    }
    const Answer answer = server.ask(words);
    said += text_of(*answer) + "; ";
    if (answer->elements > 1) fence = std::to_string(answer->element[1]->integer);
  }
  for (const std::string& key : {lock_key(0), counter_key(0)}) {
    const std::string value = text_of(*server.ask({"GET", key}));
    said += (value == fence ? "the fence" : value) + "; ";
    const long long left = server.ask({"PTTL", key})->integer;
    said += (left < 0 ? std::to_string(left) : "for " + std::to_string((left + 500) / 1000)) + "; ";
  }
  for (const Words& words : form.release(0)) said += text_of(*server.ask(words)) + "; ";
  return said + text_of(*server.ask({"EXISTS", lock_key(0), counter_key(0)}));
}

std::vector<Loaded> load_all(OneServer& server) {
  std::vector<Loaded> loaded;
  for (const Form& form : script_forms()) loaded.emplace_back(server, form);
  return loaded;
}

}  // namespace

void print_scripts(int rounds) {
  constexpr int bursts = 150;
  OneServer server;
  const std::vector<Loaded> forms = load_all(server);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const Loaded& form = forms[round % 2 == 0 ? i : forms.size() - 1 - i];
      server.ask({"FLUSHALL"});
      server.ask({"SET", enrolment, record});
      const Burst load(form);
      measure(server, load, bursts / 10);
      const Cost cost = measure(server, load, bursts);
      const double alone = alone_us(server, form, 500);
      std::printf(R"({"round":%d,"form":"%s","differs":"%s","server_us":%.4f,"cycles_per_s":%.0f,)"
                  R"("requests_per_s":%.0f,"alone_us":%.2f})"
                  "\n",
                  round, std::string(form.form().name).c_str(),
                  std::string(form.form().differs).c_str(), cost.cpu_us / (bursts * burst),
                  bursts * burst / cost.seconds, bursts * load.replies / cost.seconds, alone);
      std::fflush(stdout);
    }
  }
}

bool check_scripts() {
  OneServer server;
  const std::vector<Loaded> forms = load_all(server);
  const Loaded& library = forms.at(1);
  bool good = true;
  for (const Loaded& form : forms) {
    bool same = true;
    if (!form.form().differs.empty()) continue;
    for (const Situation& situation : situations()) {
      const std::string wanted = behaviour(server, library, situation);
      const std::string found = behaviour(server, form, situation);
      if (found == wanted) continue;
      same = false;
      std::printf("%s, %s: %s\n  and not %s\n", std::string(form.form().name).c_str(),
                  situation.name, found.c_str(), wanted.c_str());
    }
    std::printf("%s: script form \"%s\" does what acquire.lua does\n", same ? "ok" : "FAILED",
                std::string(form.form().name).c_str());
    good &= same;
  }
  return good;
}

}  // namespace quorumlock::bench
