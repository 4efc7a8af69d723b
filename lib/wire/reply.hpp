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

/// One reply of a Redis server (RESP2). Its views are valid until the reader's next call.
struct Reply {
  enum class Type { string, status, error, integer, nil, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string_view text;            ///< the text of a string, status or error
  std::span<const Reply> elements;  ///< the elements of an array
};

/// A reply to TIME in us since 1970: below 2^52. Unset if the reply is not one.
std::optional<std::int64_t> time_of(const Reply& reply);

/// A reply's text for use in our messages: printable(), and cut if it is long.
std::string words_of(const Reply& reply);

/// Bytes in, replies out: hiredis's reader, building into memory that is kept from reply to reply.
/// The usual replies (OK, nil, a number, a short string, a short array of these) are read without
/// hiredis if all their bytes are there.
///
/// Bytes that are not RESP, or a reply beyond the limits, break the reader until reset(): the
/// connection must be dropped.
class ReplyReader {
 public:
  static constexpr std::size_t max_bytes = 1 << 20;     ///< the usual limit of one reply
  static constexpr std::size_t max_elements = 1 << 16;  ///< the limit of one reply
  static constexpr std::size_t max_line = 1 << 14;  ///< the limit of a status, an error or a number

  explicit ReplyReader(std::size_t most_bytes = max_bytes);
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  void feed(std::string_view bytes);
  /// The next complete reply, or null if more bytes are needed or the reader is broken.
  const Reply* next();
  /// Whether next() may return a reply, or break, before more bytes are fed.
  [[nodiscard]] bool has_unread() const {
    return short_at_ < short_.size() || !idle() || !broken_.empty();
  }
  /// The reason why the reader is broken, empty if it is not.
  [[nodiscard]] const std::string& broken() const { return broken_; }
  /// Makes the reader as new, for a new connection.
  void reset();

 private:
  friend struct ReplyBuilder;
  struct Part {
    Reply::Type type;
    std::int64_t integer;
    std::size_t text_at, text_size;
    std::size_t first_child, children;
  };

  [[nodiscard]] std::string_view unread() const;
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
  std::string short_;         // bytes fed while hiredis's reader has nothing
  std::size_t short_at_ = 0;  // how many of them were read
  std::unique_ptr<redisReader, Free> reader_;
  std::vector<Part> parts_;  // parts of the reply being read; an array's children are consecutive
  std::string text_;         // the text of all parts
  std::vector<Reply> replies_;  // the finished reply, part for part
  bool finished_ = false;       // replies_ is what next() last gave
  std::size_t most_bytes_;      // the limit of one reply
  std::size_t unread_ = 0;      // bytes fed since the last complete reply
  std::string broken_;
};

}  // namespace quorumlock::redis
