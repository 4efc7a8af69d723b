#pragma once

#include <uv.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nodes.hpp"

namespace quorumlock::bench {

/// The names that make_contender() knows, the floor first, and the names that run by default.
const std::vector<std::string>& contender_names();
const std::vector<std::string>& usual_contenders();

/// Called on the loop with the results of a contender's operations.
class Client {
 public:
  virtual ~Client() = default;
  virtual void acquired(int slot, bool granted) = 0;
  virtual void released(int slot, bool done) = 0;
};

/// One way to acquire and release locks on the nodes, on its own loop in this thread.
///
/// A slot is one lock in flight, with its own resource; a slot's acquires and releases alternate.
/// All contenders send the same to the nodes: SET key token NX PX 10000 with a new token each time,
/// then EVALSHA of the release script, each decided by the third of five replies. The fenced
/// contender sends EVALSHA of the acquire script instead of SET, those of other kinds their own
/// scripts.
class Contender {
 public:
  virtual ~Contender() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  virtual uv_loop_t* loop() = 0;
  /// Prepares slots 0 to slots - 1.
  virtual void prepare(int slots) = 0;
  virtual void acquire(int slot) = 0;
  virtual void release(int slot) = 0;

  void serve(Client& client) { client_ = &client; }
  /// Returns the contender's own name for the slot: all of one length, and short enough to be
  /// copied without an allocation.
  [[nodiscard]] std::string resource(int slot) const {
    const auto& names = contender_names();
    const auto place = std::ranges::find(names, name()) - names.begin();
    return std::string("bench/").append(1, static_cast<char>('a' + place)) + "/" +
           std::to_string(slot);
  }

  /// Returns a glob that matches only this slot's key while nothing else is locked.
  [[nodiscard]] virtual std::string key_pattern(int slot) const { return resource(slot); }

 protected:
  Client* client_ = nullptr;
};

/// Returns a connected contender. Throws std::runtime_error if there is none of this name, or no
/// connection.
std::unique_ptr<Contender> make_contender(std::string_view name, const Nodes& nodes);

/// Owner tokens of the bare contenders: 40 hexadecimal digits whose last 16 count up, written over
/// those of the previous request.
class TokenSequence {
 public:
  void write_next(char* at) {
    static constexpr char digits[] = "0123456789abcdef";
    unsigned long long number = ++last_;
    for (int i = 39; i >= 24; --i, number >>= 4U) at[i] = digits[number & 15U];
  }
  static std::string first() { return std::string(40, '0'); }

 private:
  unsigned long long last_ = 0;
};

/// A loop whose destructor runs it until its handles are closed.
class Loop {
 public:
  Loop() { uv_loop_init(&loop_); }
  ~Loop() {
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  uv_loop_t* get() { return &loop_; }

 private:
  uv_loop_t loop_{};
};

}  // namespace quorumlock::bench
