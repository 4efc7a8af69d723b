#include "floor.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "verbs/scripts.hpp"
#include "wire/ring.hpp"

namespace quorumlock::bench {
namespace {

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "floor: %s\n", what);
  std::abort();
}

// A reply is reduced to one bit: OK and 1 are yes, everything else is no.
void* const yes = reinterpret_cast<void*>(1);
void* const no = reinterpret_cast<void*>(2);

redisReplyObjectFunctions reply_functions{
    [](const redisReadTask* task, char* text, std::size_t size) {
      return task->type == REDIS_REPLY_STATUS && size == 2 && text[0] == 'O' ? yes : no;
    },
    [](const redisReadTask*, int) { return no; },
    [](const redisReadTask*, long long value) { return value == 1 ? yes : no; },
    [](const redisReadTask*) { return no; },
    [](void*) {},
};

std::string request_of(const std::vector<std::string_view>& words) {
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const std::string_view word : words) {
    texts.push_back(word.data());
    sizes.push_back(word.size());
  }
  char* bytes = nullptr;
  const auto size =  // an int before hiredis 1.0
      redisFormatCommandArgv(&bytes, static_cast<int>(words.size()), texts.data(), sizes.data());
  std::string request(bytes, static_cast<std::size_t>(size));
  redisFreeCommand(bytes);
  return request;
}

class Floor final : public Contender {
 public:
  explicit Floor(const Nodes& nodes)
      : quorum_(nodes.quorum()), nodes_(static_cast<std::size_t>(nodes.count())) {
    for (int i = 0; i < nodes.count(); ++i) connect(nodes, i);
    while (connected_ < nodes.count()) uv_run(loop_.get(), UV_RUN_ONCE);
    prepare_.data = this;
    uv_prepare_init(loop_.get(), &prepare_);
    uv_prepare_start(&prepare_, [](uv_prepare_t* handle) {
      for (Node& node : static_cast<Floor*>(handle->data)->nodes_) flush(node);
    });
  }

  ~Floor() override {
    uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), nullptr);
    for (Node& node : nodes_) {
      uv_close(reinterpret_cast<uv_handle_t*>(&node.stream), nullptr);
      redisReaderFree(node.reader);
    }
    uv_run(loop_.get(), UV_RUN_DEFAULT);
  }

  [[nodiscard]] std::string_view name() const override { return "floor"; }
  uv_loop_t* loop() override { return loop_.get(); }

  void prepare(int slots) override {
    for (int i = static_cast<int>(slots_.size()); i < slots; ++i) {
      Slot slot;
      const std::string key = resource(i);
      const std::string token = TokenSequence::first();
      slot.set = request_of({"SET", key, token, "NX", "PX", "10000"});
      slot.release = request_of({"EVALSHA", redis::release_script.sha1, "0", key, token});
      slot.token_in_set = slot.set.find(token);
      slot.token_in_release = slot.release.rfind(token);
      slots_.push_back(std::move(slot));
    }
  }

  void acquire(int slot) override {
    Slot& mine = slots_[static_cast<std::size_t>(slot)];
    tokens_.write_next(mine.set.data() + mine.token_in_set);
    mine.set.copy(mine.release.data() + mine.token_in_release, 40, mine.token_in_set);
    send(slot, mine, mine.set);
  }

  void release(int slot) override {
    Slot& mine = slots_[static_cast<std::size_t>(slot)];
    send(slot, mine, mine.release);
  }

 private:
  struct Slot {
    std::string set, release;
    std::size_t token_in_set = 0, token_in_release = 0;
    std::uint32_t round = 0;  // late replies to earlier rounds do not count
    int granted = 0, refused = 0;
    bool open = false, holding = false;
  };
  struct Sent {
    std::uint32_t slot, round;
  };
  struct Node {
    union Stream {
      uv_tcp_t tcp;
      uv_pipe_t pipe;
      uv_stream_t any;
    } stream{};
    uv_connect_t connecting{};
    Floor* floor = nullptr;
    redisReader* reader = nullptr;
    std::string out;
    redis::Ring<Sent> sent;
    std::array<char, 16 * 1024> in{};
  };

  void connect(const Nodes& nodes, int index) {
    Node& node = nodes_[static_cast<std::size_t>(index)];
    node.floor = this;
    node.reader = redisReaderCreateWithFunctions(&reply_functions);
    node.connecting.data = &node;
    const auto on_connected = [](uv_connect_t* request, int status) {
      if (status < 0) die(uv_strerror(status));
      Node& mine = *static_cast<Node*>(request->data);
      ++mine.floor->connected_;
      uv_read_start(&mine.stream.any, on_space, on_read);
    };
    if (nodes.port(index) != 0) {
      uv_tcp_init(loop_.get(), &node.stream.tcp);
      uv_tcp_nodelay(&node.stream.tcp, 1);
      sockaddr_in address;
      uv_ip4_addr("127.0.0.1", nodes.port(index), &address);
      uv_tcp_connect(&node.connecting, &node.stream.tcp,
                     reinterpret_cast<const sockaddr*>(&address), on_connected);
    } else {
      uv_pipe_init(loop_.get(), &node.stream.pipe, 0);
      uv_pipe_connect(&node.connecting, &node.stream.pipe, nodes.path(index).c_str(), on_connected);
    }
    node.stream.any.data = &node;
  }

  void send(int slot, Slot& mine, const std::string& request) {
    mine.granted = mine.refused = 0;
    mine.open = true;
    ++mine.round;
    for (Node& node : nodes_) {
      node.out += request;
      node.sent.push({static_cast<std::uint32_t>(slot), mine.round});
    }
  }

  static void flush(Node& node) {
    if (node.out.empty()) return;
    const uv_buf_t bytes = uv_buf_init(node.out.data(), static_cast<unsigned>(node.out.size()));
    const int taken = uv_try_write(&node.stream.any, &bytes, 1);
    if (taken > 0) node.out.erase(0, static_cast<std::size_t>(taken));
    if (taken < 0 && taken != UV_EAGAIN) die(uv_strerror(taken));
  }

  static void on_space(uv_handle_t* handle, std::size_t, uv_buf_t* space) {
    auto& in = static_cast<Node*>(handle->data)->in;
    *space = uv_buf_init(in.data(), static_cast<unsigned>(in.size()));
  }

  static void on_read(uv_stream_t* stream, ssize_t size, const uv_buf_t* bytes) {
    if (size < 0) die(uv_strerror(static_cast<int>(size)));
    Node& node = *static_cast<Node*>(stream->data);
    redisReaderFeed(node.reader, bytes->base, static_cast<std::size_t>(size));
    void* reply = nullptr;
    while (redisReaderGetReply(node.reader, &reply) == REDIS_OK && reply != nullptr) {
      node.floor->on_reply(node.sent.pop(), reply == yes);
    }
  }

  void on_reply(Sent sent, bool granted) {
    Slot& slot = slots_[sent.slot];
    if (sent.round != slot.round || !slot.open) return;
    granted ? ++slot.granted : ++slot.refused;
    if (slot.granted < quorum_ && slot.refused < quorum_) return;
    const bool won = slot.granted == quorum_;
    slot.open = false;
    slot.holding = !slot.holding;
    const int index = static_cast<int>(sent.slot);
    slot.holding ? client_->acquired(index, won) : client_->released(index, won);
  }

  Loop loop_;
  uv_prepare_t prepare_{};
  int quorum_;
  std::vector<Node> nodes_;
  int connected_ = 0;
  std::vector<Slot> slots_;
  TokenSequence tokens_;
};

}  // namespace

std::unique_ptr<Contender> make_floor(const Nodes& nodes) {
  return std::make_unique<Floor>(nodes);
}

}  // namespace quorumlock::bench
