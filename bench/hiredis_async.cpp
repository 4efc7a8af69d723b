#include "hiredis_async.hpp"

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <hiredis/adapters/libuv.h>

#include <array>
#include <cstdint>
#include <stdexcept>

#include "redis/scripts.hpp"

namespace quorumlock::bench {
namespace {

class HiredisAsync final : public Contender {
 public:
  explicit HiredisAsync(const Nodes& nodes) : quorum_(nodes.quorum()) {
    for (int i = 0; i < nodes.count(); ++i) {
      redisAsyncContext* node = nodes.port(i) != 0 ? redisAsyncConnect("127.0.0.1", nodes.port(i))
                                                   : redisAsyncConnectUnix(nodes.path(i).c_str());
      if (node == nullptr || node->err != 0) throw std::runtime_error("hiredis cannot connect");
      node->data = this;
      redisLibuvAttach(node, loop_.get());
      redisAsyncSetConnectCallback(node, [](const redisAsyncContext* connected, int status) {
        if (status == REDIS_OK) ++static_cast<HiredisAsync*>(connected->data)->connected_;
      });
      nodes_.push_back(node);
    }
    while (connected_ < nodes.count()) uv_run(loop_.get(), UV_RUN_ONCE);
  }

  ~HiredisAsync() override {
    closing_ = true;
    for (redisAsyncContext* node : nodes_) redisAsyncFree(node);
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }

  [[nodiscard]] std::string_view name() const override { return "hiredis_async"; }
  uv_loop_t* loop() override { return loop_.get(); }

  void prepare(int slots) override {
    for (int i = static_cast<int>(slots_.size()); i < slots; ++i) {
      slots_.push_back({resource(i), TokenSequence::first()});
    }
  }

  void acquire(int slot) override {
    Slot& mine = slots_[static_cast<std::size_t>(slot)];
    tokens_.write_next(mine.token.data());
    send(slot, std::array<std::string_view, 6>{"SET", mine.key, mine.token, "NX", "PX", "10000"});
  }

  void release(int slot) override {
    const Slot& mine = slots_[static_cast<std::size_t>(slot)];
    send(slot, std::array<std::string_view, 5>{"EVALSHA", redis::release_script.sha1, "1", mine.key,
                                               mine.token});
  }

 private:
  static constexpr unsigned slot_bits = 16;
  struct Slot {
    std::string key, token;
    std::uintptr_t round = 0;
    int granted = 0, refused = 0;
    bool open = false, holding = false;
  };

  template <std::size_t words>
  void send(int slot, const std::array<std::string_view, words>& command) {
    Slot& mine = slots_[static_cast<std::size_t>(slot)];
    mine.granted = mine.refused = 0;
    mine.open = true;
    ++mine.round;
    std::array<const char*, words> texts;
    std::array<std::size_t, words> sizes;
    for (std::size_t i = 0; i < words; ++i) {
      texts[i] = command[i].data();
      sizes[i] = command[i].size();
    }
    const std::uintptr_t tag = mine.round << slot_bits | static_cast<std::uintptr_t>(slot);
    for (redisAsyncContext* node : nodes_) {
      redisAsyncCommandArgv(node, on_reply, reinterpret_cast<void*>(tag), static_cast<int>(words),
                            texts.data(), sizes.data());
    }
  }

  static void on_reply(redisAsyncContext* node, void* data, void* tag) {
    auto& self = *static_cast<HiredisAsync*>(node->data);
    const auto* reply = static_cast<const redisReply*>(data);
    if (reply == nullptr || self.closing_) return;
    const bool granted = reply->type == REDIS_REPLY_STATUS ||
                         (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1);
    const auto packed = reinterpret_cast<std::uintptr_t>(tag);
    self.count(packed & ((1U << slot_bits) - 1), packed >> slot_bits, granted);
  }

  void count(std::size_t index, std::uintptr_t round, bool granted) {
    Slot& slot = slots_[index];
    if (round != slot.round || !slot.open) return;
    granted ? ++slot.granted : ++slot.refused;
    if (slot.granted < quorum_ && slot.refused < quorum_) return;
    const bool won = slot.granted == quorum_;
    slot.open = false;
    slot.holding = !slot.holding;
    slot.holding ? client_->acquired(static_cast<int>(index), won)
                 : client_->released(static_cast<int>(index), won);
  }

  Loop loop_;
  int quorum_;
  std::vector<redisAsyncContext*> nodes_;
  int connected_ = 0;
  bool closing_ = false;
  std::vector<Slot> slots_;
  TokenSequence tokens_;
};

}  // namespace

std::unique_ptr<Contender> make_hiredis_async(const Nodes& nodes) {
  return std::make_unique<HiredisAsync>(nodes);
}

}  // namespace quorumlock::bench
