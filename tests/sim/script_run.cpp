#include "sim/script_run.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "sim/resp.hpp"

namespace quorumlock::sim {

ScriptRun::ScriptRun(const redis::Script& script, const Moment& moment,
                     std::span<const std::string> keys, std::span<const std::string> args,
                     Refusals refusals)
    : script_(script), moment_(moment), keys_(keys), args_(args), refusals_(refusals) {}

const std::string& ScriptRun::key(std::size_t number) const {
  if (number > keys_.size()) throw std::logic_error("a script was not given all its keys");
  return keys_[number - 1];
}

const std::string& ScriptRun::arg(std::size_t number) const {
  if (number > args_.size()) throw std::logic_error("a script was not given all its arguments");
  return args_[number - 1];
}

double ScriptRun::number(std::size_t number) const {
  const auto value = to_number(arg(number));
  if (!value) throw std::logic_error("a script was given no number but " + arg(number));
  return *value;
}

std::string ScriptRun::call(const Words& words, std::string_view where) {
  const std::string reply = attempt(words);
  if (!resp::is_error(reply)) return reply;
  throw ScriptError(std::string(resp::line_of(reply)),
                    " script: " + std::string(script_.sha1) +
                        ", on @user_script:" + std::to_string(line_of(where)) + ".");
}

ScriptRun::Text ScriptRun::get(const std::string& key, std::string_view where) {
  const std::string reply = call({"GET", key}, where);
  std::string_view rest = reply;
  return resp::take_bulk(rest);
}

std::vector<ScriptRun::Text> ScriptRun::mget(const Words& keys) {
  Words words = {"MGET"};
  words.insert(words.end(), keys.begin(), keys.end());
  const std::string reply = call(words, "redis.call('MGET'");
  std::string_view rest = reply;
  rest.remove_prefix(rest.find("\r\n") + 2);
  std::vector<Text> texts;
  while (texts.size() < keys.size()) texts.push_back(resp::take_bulk(rest));
  return texts;
}

double ScriptRun::pttl(const std::string& key) {
  return std::stod(std::string(resp::line_of(call({"PTTL", key}, "redis.call('PTTL'"))));
}

std::vector<std::string> ScriptRun::list(const Words& words, std::string_view where) {
  const std::string reply = call(words, where);
  std::string_view rest = reply;
  const auto size = std::stoul(std::string(resp::line_of(rest)));
  rest.remove_prefix(rest.find("\r\n") + 2);
  std::vector<std::string> elements;
  while (elements.size() < size) elements.push_back(*resp::take_bulk(rest));
  return elements;
}

std::string ScriptRun::attempt(const Words& words) {
  std::string error;
  const Command& command = *find_command(words, error);
  if (command.is(Command::writes) && !refusals_.write.empty()) return resp::error(refusals_.write);
  if (command.is(Command::grows) && !refusals_.growth.empty() && !has_written_) {
    return resp::error(refusals_.growth);
  }
  has_written_ = has_written_ || command.is(Command::writes);
  return command.run(moment_, words);
}

int ScriptRun::line_of(std::string_view where) const {
  const std::size_t at = script_.source.find(where);
  if (at == script_.source.npos) {
    throw std::logic_error("a script has changed: it does not say " + std::string(where));
  }
  return 1 + static_cast<int>(std::ranges::count(script_.source.substr(0, at), '\n'));
}

std::optional<double> to_number(const ScriptRun::Text& text) {
  if (!text) return std::nullopt;
  // What Lua 5.1 does: as C reads it, with white space around it.
  const char* const begin = text->c_str();
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  if (end == begin) return std::nullopt;
  while (std::isspace(static_cast<unsigned char>(*end)) != 0) ++end;
  if (*end != '\0') return std::nullopt;
  return number;
}

std::string integer_reply(double number) {
  // Beyond its range the processor's conversion gives the least integer.
  constexpr double limit = 9223372036854775808.0;
  const bool fits = number >= -limit && number < limit;
  return resp::integer(fits ? static_cast<std::int64_t>(number)
                            : std::numeric_limits<std::int64_t>::min());
}

}  // namespace quorumlock::sim
