#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace quorumlock::redis {

/// One reply of a Redis server (RESP2). Views hold until the reader's next call.
struct Reply {
  enum class Type { string, status, error, integer, nil, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string_view text;            ///< of a string, status or error
  std::span<const Reply> elements;  ///< of an array
};

/// What TIME has answered, in us since 1970: below 2^52. Nothing where this is no such answer.
std::optional<std::int64_t> time_of(const Reply& reply);

/// A node's own words for a sentence of ours: on one line, in printable ASCII, cut where they are
/// long.
std::string words_of(const Reply& reply);

/// Bytes in, replies out: hiredis's reader, building into memory that is kept from reply to reply.
/// The few that nearly all replies are (OK, nil, a number, a short string, some of these) are read
/// without it, where they are there as a whole.
///
/// A server that sends what is not RESP, or more than the limits, breaks the reader for good: the
/// connection must be dropped.
class ReplyReader {
 public:
  static constexpr std::size_t max_bytes = 1 << 20;     ///< of one reply
  static constexpr std::size_t max_elements = 1 << 16;  ///< of one reply
  static constexpr std::size_t max_line = 1 << 14;      ///< of a status, an error or a number

  ReplyReader();
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);
  /// The next complete reply, or null where more bytes are needed or the reader is broken.
  const Reply* next();
  /// Whether next() may give something before more bytes are fed.
  [[nodiscard]] bool has_unread() const {
    return short_at_ < short_.size() || !idle() || !broken_.empty();
  }
  /// What was wrong, empty unless broken.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// As new, for a new connection.
  void reset();

 private:
  friend struct ReplyBuilder;
  struct Node {
    Reply::Type type;
    std::int64_t integer;
    std::size_t text_at, text_size;
    std::size_t first_child, children;
  };

  [[nodiscard]] bool is_long_line() const;
  [[nodiscard]] bool idle() const;
  bool read_short();
  void drop_short() {
    short_.clear();
    short_at_ = 0;
  }

  struct Free {
    void operator()(redisReader* reader) const;
  };
  std::string short_;         // fed and not read, while hiredis's reader has nothing
  std::size_t short_at_ = 0;  // what of it was read
  std::unique_ptr<redisReader, Free> reader_;
  std::vector<Node> nodes_;     // of the reply being read; an array's children stand side by side
  std::string text_;            // theirs
  std::vector<Reply> replies_;  // the finished reply's, node for node
  bool finished_ = false;       // replies_ is what next() last gave
  std::size_t unread_ = 0;      // bytes fed since the last complete reply
  std::string broken_;
};

}  // namespace quorumlock::redis
