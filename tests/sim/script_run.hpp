#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "redis/scripts.hpp"
#include "sim/commands.hpp"

namespace quorumlock::sim {

/// An error that ends a script, unless it is caught there: the reply's text.
class ScriptError : public std::runtime_error {
 public:
  explicit ScriptError(const std::string& text) : std::runtime_error(text), bare_(text) {}
  /// Of a command: behind the error stands, in a reply, where in the script that was.
  ScriptError(const std::string& bare, const std::string& where)
      : std::runtime_error(bare + where), bare_(bare) {}
  /// What the script has where it catches it.
  [[nodiscard]] const std::string& bare() const { return bare_; }

 private:
  std::string bare_;
};

/// One call of a script: what `redis.call`, KEYS and ARGV give it.
class ScriptRun {
 public:
  /// What the server refuses now; empty for nothing.
  struct Refusals {
    std::string_view write;   ///< every write
    std::string_view growth;  ///< what would need more memory, before the script's first write
  };
  using Text = std::optional<std::string>;  ///< nothing: Lua's false

  ScriptRun(const redis::Script& script, const Moment& moment, std::span<const std::string> keys,
            std::span<const std::string> args, Refusals refusals);

  /// Numbered from 1, as in Lua. Throws std::logic_error where there is no such one: the library
  /// gives each script all it asks for.
  [[nodiscard]] const std::string& key(std::size_t number) const;
  [[nodiscard]] const std::string& arg(std::size_t number) const;
  [[nodiscard]] std::size_t keys() const { return keys_.size(); }
  [[nodiscard]] std::size_t args() const { return args_.size(); }
  /// Arithmetic on ARGV; throws std::logic_error where that is no number.
  [[nodiscard]] double number(std::size_t arg) const;

  /// `where` is how the call begins in the source, for the line that Redis names in an error.
  /// Throws ScriptError with what Redis answers then.
  std::string call(const Words& words, std::string_view where);
  Text get(const std::string& key, std::string_view where);
  std::vector<Text> mget(const Words& keys);
  double pttl(const std::string& key);
  /// The elements of an array of strings.
  std::vector<std::string> list(const Words& words, std::string_view where);
  /// redis.pcall: the reply, or what went wrong.
  std::string attempt(const Words& words);
  /// Microseconds, as every script of ours reckons them.
  [[nodiscard]] double time() const { return static_cast<double>(moment_.now_us); }

 private:
  [[nodiscard]] int line_of(std::string_view where) const;

  const redis::Script& script_;
  Moment moment_;
  std::span<const std::string> keys_;  // of the command, which outlives the run
  std::span<const std::string> args_;
  Refusals refusals_;
  bool has_written_ = false;
};

/// Lua's tonumber, of a string or of false.
std::optional<double> to_number(const ScriptRun::Text& text);
/// A Lua number as an integer reply: truncated.
std::string integer_reply(double number);

}  // namespace quorumlock::sim
