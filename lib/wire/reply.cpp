#include "wire/reply.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include <quorumlock/event.hpp>

#include "wire/numbers.hpp"

namespace quorumlock::redis {

/// The functions that hiredis's reader calls for each object. An object is named by its index in
/// parts_ plus one, since null means out of memory, which correctly makes the reader give up.
struct ReplyBuilder {
  /// How many arrays an array may be in. No reply of ours is nested deeply, and hiredis 1.0 and
  /// later have no such limit of their own.
  static constexpr int deepest = 8;

  static void* place(const redisReadTask* task, ReplyReader::Part part) {
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    std::size_t index = 0;
    if (task->parent != nullptr) {
      const auto parent = reinterpret_cast<std::uintptr_t>(task->parent->obj) - 1;
      index = reader.parts_[parent].first_child + static_cast<std::size_t>(task->idx);
    } else {
      reader.parts_.resize(1);
    }
    if (part.children > 0) {
      part.first_child = reader.parts_.size();
      if (part.first_child + part.children > ReplyReader::max_elements) return nullptr;
      reader.parts_.resize(part.first_child + part.children);
    }
    reader.parts_[index] = part;
    return reinterpret_cast<void*>(index + 1);
  }

  static Reply::Type type_of(const redisReadTask* task) {
    switch (task->type) {
      case REDIS_REPLY_STATUS: return Reply::Type::status;
      case REDIS_REPLY_ERROR: return Reply::Type::error;
      default: return Reply::Type::string;
    }
  }

  static void* string(const redisReadTask* task, char* text, std::size_t size) {
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    if (task->type != REDIS_REPLY_STRING) {
      const bool is_line = task->type == REDIS_REPLY_STATUS || task->type == REDIS_REPLY_ERROR;
      if (!is_line || size > ReplyReader::max_line) return nullptr;
    }
    const std::size_t at = reader.text_.size();
    if (at + size > reader.most_bytes_) return nullptr;
    reader.text_.append(text, size);
    return place(task, {type_of(task), 0, at, size, 0, 0});
  }
  template <class Count>  // hiredis counts in int before 1.0, then in size_t
  static void* array(const redisReadTask* task, Count elements) {
    if (task->type != REDIS_REPLY_ARRAY || std::cmp_less(elements, 0)) return nullptr;
    int depth = 0;
    for (const auto* outer = task->parent; outer != nullptr; outer = outer->parent) {
      if (++depth == deepest) return nullptr;
    }
    return place(task, {Reply::Type::array, 0, 0, 0, 0, static_cast<std::size_t>(elements)});
  }
  static void* integer(const redisReadTask* task, long long value) {
    return place(task, {Reply::Type::integer, value, 0, 0, 0, 0});
  }
  static void* nil(const redisReadTask* task) {
    if (task->type == REDIS_REPLY_NIL) return nullptr;  // the nil of RESP3
    return place(task, {Reply::Type::nil, 0, 0, 0, 0, 0});
  }
  static void free(void* /*object*/) {}
};

namespace {

/// hiredis 1.0 and later also read the types of RESP3. No server sends them to a client that has
/// not asked for RESP3, so such a reply is refused, as earlier versions of hiredis do themselves.
template <class Functions>
constexpr Functions functions_of_builder() {
  Functions all{};
  all.createString = ReplyBuilder::string;
  all.createArray = ReplyBuilder::array;
  all.createInteger = ReplyBuilder::integer;
  all.createNil = ReplyBuilder::nil;
  all.freeObject = ReplyBuilder::free;
  if constexpr (requires { &Functions::createDouble; }) {
    all.createDouble = [](auto...) -> void* { return nullptr; };
    all.createBool = [](auto...) -> void* { return nullptr; };
  }
  return all;
}

constinit auto builder_functions = functions_of_builder<redisReplyObjectFunctions>();

/// Takes this mark, a number and the end of its line off the front. Returns false if the bytes are
/// something else or incomplete, or if the number has leading zeros, which hiredis refuses.
bool take_number(std::string_view& bytes, char mark, std::int64_t& number) {
  if (bytes.empty() || bytes.front() != mark) return false;
  const bool one_digit = bytes.size() >= 4 && bytes[1] >= '0' && bytes[1] <= '9' &&
                         bytes[2] == '\r' && bytes[3] == '\n';
  if (one_digit) {  // the usual case
    number = bytes[1] - '0';
    bytes.remove_prefix(4);
    return true;
  }
  const char* const end = bytes.data() + bytes.size();
  const auto [last, error] = std::from_chars(bytes.data() + 1, end, number);
  if (error != std::errc() || end - last < 2 || last[0] != '\r' || last[1] != '\n') return false;
  const std::string_view digits(bytes.data() + 1, last);
  if (digits.starts_with("-0") || (digits.starts_with('0') && digits.size() > 1)) return false;
  bytes = std::string_view(last + 2, end);
  return true;
}

/// Takes a short string off the front; false if the bytes are something else or incomplete.
bool take_string(std::string_view& bytes, Reply& word) {
  constexpr std::int64_t longest = 256;
  std::int64_t size = 0;
  if (!take_number(bytes, '$', size) || size < 0 || size > longest) return false;
  const auto length = static_cast<std::size_t>(size);
  if (bytes.size() < length + 2 || bytes.substr(length, 2) != "\r\n") return false;
  word = {Reply::Type::string, 0, bytes.substr(0, length), {}};
  bytes.remove_prefix(length + 2);
  return true;
}

/// How much is quoted of bytes that are no reply.
constexpr std::size_t longest_quote = 80;

/// The first line of these bytes if it is text that tells somebody who speaks: an HTTP server, say.
std::string_view readable_line(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const bool readable = std::ranges::all_of(line, [](char c) { return c >= 0x20 && c <= 0x7e; });
  return readable && std::string_view("+-:$*").find(bytes.substr(0, 1)) == line.npos ? line : "";
}

/// Whether the bytes, which begin with a '+', begin with "+OK\r\n". The four bytes after the '+'
/// are one word, since a comparison of texts is a function call.
bool begin_with_ok(std::string_view bytes) {
  constexpr auto expected = std::bit_cast<std::uint32_t>(std::array{'O', 'K', '\r', '\n'});
  std::uint32_t word = 0;
  if (bytes.size() <= sizeof word) return false;
  std::memcpy(&word, bytes.data() + 1, sizeof word);
  return word == expected;
}

}  // namespace

void ReplyReader::Free::operator()(redisReader* reader) const {
  redisReaderFree(reader);
}

ReplyReader::ReplyReader(std::size_t most_bytes) : most_bytes_(most_bytes) {
  reset();
}
ReplyReader::~ReplyReader() = default;

void ReplyReader::reset() {
  reader_.reset(redisReaderCreateWithFunctions(&builder_functions));
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = this;
  drop_short();
  parts_.clear();
  text_.clear();
  finished_ = false;
  unread_ = 0;
  broken_.clear();
}

void ReplyReader::feed(std::string_view bytes) {
  if (!broken_.empty()) return;
  if (idle()) {
    if (short_at_ == short_.size()) drop_short();
    short_ += bytes;
    return;
  }
  unread_ += bytes.size();
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    broken_ = reader_->errstr;
  }
}

/// The bytes that hiredis's reader has not read yet.
std::string_view ReplyReader::unread() const {
  return {reader_->buf + reader_->pos, reader_->len - reader_->pos};
}

/// Whether hiredis's reader has no unread bytes and has begun no reply.
bool ReplyReader::idle() const {
  return reader_->ridx == -1 && reader_->len == reader_->pos;
}

/// Reads the next reply if it is one of the usual ones and complete.
bool ReplyReader::read_short() {
  constexpr std::int64_t most = 136;  // a batch of acquisitions has 129
  std::string_view bytes = std::string_view(short_).substr(short_at_);
  const auto take = [&bytes](std::string_view words) {
    if (!bytes.starts_with(words)) return false;
    bytes.remove_prefix(words.size());
    return true;
  };
  if (replies_.empty()) replies_.resize(1);
  Reply& reply = replies_.front();  // built in place: a copy would stall on store forwarding
  std::int64_t count = 0;
  switch (bytes.front()) {
    case '+':
      if (!begin_with_ok(bytes)) return false;
      bytes.remove_prefix(std::string_view("+OK\r\n").size());
      reply = {Reply::Type::status, 0, "OK", {}};
      break;
    case '$':
      if (take("$-1\r\n")) {
        reply = Reply();
        break;
      }
      [[fallthrough]];
    case ':':
      reply = {Reply::Type::integer, 0, {}, {}};
      if (!take_number(bytes, ':', reply.integer) && !take_string(bytes, reply)) return false;
      break;
    case '*':
      if (!take_number(bytes, '*', count) || count < 1 || count > most) return false;
      replies_.assign(static_cast<std::size_t>(count) + 1, {Reply::Type::integer, 0, {}, {}});
      for (std::size_t i = 1; i < replies_.size(); ++i) {
        Reply& word = replies_[i];
        if (!take_number(bytes, ':', word.integer) && !take_string(bytes, word)) return false;
      }
      replies_.front() = {Reply::Type::array, 0, {}, std::span(replies_).subspan(1)};
      break;
    default: return false;
  }
  short_at_ = short_.size() - bytes.size();
  return true;
}

const Reply* ReplyReader::next() {
  if (!broken_.empty()) return nullptr;
  if (short_at_ < short_.size()) {
    if (read_short()) return replies_.data();
    const std::string_view rest = std::string_view(short_).substr(short_at_);
    unread_ += rest.size();
    if (redisReaderFeed(reader_.get(), rest.data(), rest.size()) != REDIS_OK) {
      broken_ = reader_->errstr;
      return nullptr;
    }
  }
  drop_short();
  if (idle()) return nullptr;
  if (finished_) {
    parts_.clear();
    text_.clear();
    finished_ = false;
  }
  std::array<char, longest_quote> kept;  // hiredis drops its buffer at the first wrong byte
  const std::string_view front(kept.data(), unread().copy(kept.data(), kept.size()));
  void* root = nullptr;
  if (redisReaderGetReply(reader_.get(), &root) != REDIS_OK) {
    const bool too_large = reader_->err == REDIS_ERR_OOM;
    broken_ = too_large ? "a reply beyond the limits" : reader_->errstr;
    const std::string_view line = readable_line(front);
    if (!too_large && !line.empty()) broken_.append(": \"").append(line).append(1, '"');
    return nullptr;
  }
  if (root == nullptr) {
    // Bounds the memory that a server can take by announcing a huge reply and sending it slowly.
    if (unread_ > 2 * most_bytes_ || is_long_line()) broken_ = "a reply beyond the limits";
    return nullptr;
  }
  unread_ = reader_->len - reader_->pos;
  replies_.resize(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    replies_[i] =
        Reply{part.type, part.integer, std::string_view(text_).substr(part.text_at, part.text_size),
              std::span(replies_).subspan(part.first_child, part.children)};
  }
  finished_ = true;  // the views point into text_, which is emptied when the next reply begins
  return replies_.data();
}

/// Whether the unread bytes begin with a line that has no end within the limit. hiredis searches
/// for the end from the line's front whenever bytes come in, so bytes sent one by one would cost
/// quadratic time.
bool ReplyReader::is_long_line() const {
  constexpr std::size_t longest = max_line + 2;  // the longest line with its end
  const std::string_view line = unread().substr(0, longest + 1);
  return line.size() > longest && line.substr(0, longest).find("\r\n") == line.npos;
}

std::optional<std::int64_t> time_of(const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return {};
  return time_in(reply.elements[0].text, reply.elements[1].text);
}

std::string words_of(const Reply& reply) {
  constexpr std::size_t longest = 200;
  std::string_view text = reply.text;
  // A server quotes the arguments of a command that it does not know: of EVAL, a whole script.
  constexpr std::string_view taken_away = ", which rename-command or a proxy may have taken away";
  const bool unknown = text.starts_with("ERR unknown command") && !text.ends_with(taken_away);
  if (unknown) text = text.substr(0, text.find(", with args"));
  const std::string words = printable(text, longest);
  return unknown ? words + std::string(taken_away) : words;
}

}  // namespace quorumlock::redis
