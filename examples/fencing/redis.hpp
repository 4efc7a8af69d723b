// Fencing of a Redis key, to be copied: a hash with the value and the fencing token of its last
// writer, which a script compares.
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fencing {

/// A key that a lock protects. Use one object and one connection for each thread. Errors are
/// std::runtime_error.
class RedisKey {
 public:
  struct Content {
    std::string value;
    std::uint64_t fence = 0;  ///< 0: not written yet
  };

  RedisKey(redisContext* context, std::string key) : context_(context), key_(std::move(key)) {}

  /// Call this before reading anything: from here on all former holders are refused. Returns false
  /// if a later holder was here: the lock is no longer yours.
  bool check(std::uint64_t fence) {
    return said_yes(call({"EVAL", script, "1", key_, std::to_string(fence)}));
  }

  /// Returns false if refused; nothing is then changed.
  bool write(std::string_view value, std::uint64_t fence) {
    return said_yes(call({"EVAL", script, "1", key_, std::to_string(fence), value}));
  }

  Content read() {
    const Reply reply = call({"HMGET", key_, "value", "fence"});
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) throw unexpected();
    const auto text = [&](std::size_t which) {
      const redisReply& element = *reply->element[which];
      return element.type == REDIS_REPLY_STRING ? std::string(element.str, element.len) : "";
    };
    const std::string fence = text(1);
    return {text(0), fence.empty() ? 0 : std::stoull(fence)};
  }

 private:
  static constexpr std::string_view script = R"lua(
    -- KEYS key. ARGV fencing token, value (none: it stays). 1: done; 0: refused.
    local fence = tonumber(ARGV[1])
    if not fence or fence < 1 or fence >= 9007199254740992 then
      return redis.error_reply('ERR not a fencing token: ' .. ARGV[1])
    end
    if (tonumber(redis.call('HGET', KEYS[1], 'fence')) or 0) > fence then return 0 end
    redis.call('HSET', KEYS[1], 'fence', ARGV[1])
    if ARGV[2] then redis.call('HSET', KEYS[1], 'value', ARGV[2]) end
    return 1
  )lua";

  struct Free {
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;

  static std::runtime_error unexpected() {
    return std::runtime_error("an answer that does not belong to the question");
  }

  static bool said_yes(const Reply& reply) {
    if (reply->type != REDIS_REPLY_INTEGER) throw unexpected();
    return reply->integer == 1;
  }

  Reply call(const std::vector<std::string_view>& words) {
    std::vector<const char*> bytes;
    std::vector<std::size_t> sizes;
    for (const std::string_view word : words) {
      bytes.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context_, static_cast<int>(words.size()), bytes.data(), sizes.data())));
    if (reply == nullptr) throw std::runtime_error(context_->errstr);
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
    return reply;
  }

  redisContext* context_;
  std::string key_;
};

}  // namespace fencing
