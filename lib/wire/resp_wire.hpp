#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "wire/reply.hpp"
#include "wire/wire.hpp"
#include "wire/write_buffer.hpp"

namespace quorumlock::redis {

/// The bytes of a wire to a server: those to be written, and the reader of the replies. A state
/// machine derives from it, and says when a connection begins and ends.
class RespWire : public Wire {
 public:
  [[nodiscard]] const Endpoint& endpoint() const final { return endpoint_; }
  void on_bytes(std::string_view bytes) final {
    if (connected_) reader_.feed(bytes);
  }
  void on_awaiting(std::string_view whom) final { awaited_ = whom; }
  [[nodiscard]] std::string_view output() const final { return output_.unwritten(); }
  void wrote(std::size_t bytes) final { output_.wrote(bytes); }

 protected:
  explicit RespWire(Endpoint endpoint, std::size_t largest_reply = ReplyReader::max_bytes)
      : endpoint_(std::move(endpoint)), reader_(largest_reply) {}

  /// A connection is there, on which nothing has been sent or received.
  void begin_connection() { restart(true); }
  /// The connection has ended: bytes that were not written or not read are dropped.
  void end_connection() { restart(false); }
  [[nodiscard]] bool connected() const { return connected_; }
  /// What an attempt that takes too long has to say.
  [[nodiscard]] std::string not_in_time() const {
    return "no answer within connect_timeout" + (awaited_.empty() ? "" : " from " + awaited_);
  }
  /// Whether too much is unwritten: the peer sends replies, but does not read its commands.
  [[nodiscard]] bool is_flooded() const { return output_.unwritten().size() > most_unwritten; }
  WriteBuffer& output_buffer() { return output_; }
  ReplyReader& reader() { return reader_; }
  [[nodiscard]] const ReplyReader& reader() const { return reader_; }

 private:
  void restart(bool connected) {
    connected_ = connected;
    reader_.reset();
    output_.clear();
  }

  static constexpr std::size_t most_unwritten = std::size_t{64} << 20;

  Endpoint endpoint_;
  WriteBuffer output_;
  ReplyReader reader_;
  bool connected_ = false;
  std::string awaited_;
};

}  // namespace quorumlock::redis
