#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/commands.hpp"

/// The commands about data. Each returns its reply as RESP.
namespace quorumlock::sim::data {

std::string del(const Moment& moment, Arguments words);
/// Supports only IFEQ.
std::string exists(const Moment& moment, Arguments words);
std::string get(const Moment& moment, Arguments words);
std::string getrange(const Moment& moment, Arguments words);
std::string hdel(const Moment& moment, Arguments words);
std::string hget(const Moment& moment, Arguments words);
std::string hmget(const Moment& moment, Arguments words);
std::string hset(const Moment& moment, Arguments words);
std::string incr(const Moment& moment, Arguments words);
std::string mget(const Moment& moment, Arguments words);
std::string pexpire(const Moment& moment, Arguments words);
std::string pexpireat(const Moment& moment, Arguments words);
std::string publish(const Moment& moment, Arguments words);
std::string pttl(const Moment& moment, Arguments words);
std::string scan(const Moment& moment, Arguments words);
std::string set(const Moment& moment, Arguments words);
std::string strlen(const Moment& moment, Arguments words);
std::string time(const Moment& moment, Arguments words);
std::string type(const Moment& moment, Arguments words);
std::string zadd(const Moment& moment, Arguments words);
std::string zrange(const Moment& moment, Arguments words);
/// Supports only ranges from the least score (-inf) up to an exclusive greatest one, with LIMIT 0.
std::string zrangebyscore(const Moment& moment, Arguments words);
std::string zrem(const Moment& moment, Arguments words);
std::string zremrangebyrank(const Moment& moment, Arguments words);
/// Supports only ranges from the least score (-inf) up to an exclusive greatest one.
std::string zremrangebyscore(const Moment& moment, Arguments words);
std::string zscore(const Moment& moment, Arguments words);

/// Reads an integer as Redis does: no spaces, no plus, no leading zeros.
std::optional<std::int64_t> whole_number(std::string_view text);
std::string lower(std::string_view text);
/// Formats a score, or a script's number, as Redis does.
std::string number_text(double number);

inline constexpr std::string_view wrong_type =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
inline constexpr std::string_view not_an_integer = "ERR value is not an integer or out of range";
inline constexpr std::string_view syntax_error = "ERR syntax error";

}  // namespace quorumlock::sim::data
