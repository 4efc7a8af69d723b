#include "sim/twins.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <utility>

#include "sim/resp.hpp"

namespace quorumlock::sim {
namespace {

using test::Reply;

std::string command_bytes(const Words& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += resp::bulk(word);
  return bytes;
}

/// A reply as the server wrote it.
std::string to_resp(const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nothing: break;
    case Reply::Type::status: return resp::status(reply.text);
    case Reply::Type::error: return resp::error(reply.text);
    case Reply::Type::integer: return resp::integer(reply.integer);
    case Reply::Type::string: return resp::bulk(reply.text);
    case Reply::Type::array: {
      std::vector<std::string> elements;
      for (const Reply& element : reply.elements) elements.push_back(to_resp(element));
      return resp::array(elements);
    }
  }
  return std::string(resp::nil);
}

std::string score_text(double score) {
  std::array<char, 40> text;
  (void)std::snprintf(text.data(), text.size(), "%.17g", score);
  return text.data();
}

/// The reply without what servers other than Redis 7.0 write in their own way: the words after an
/// error's code, which of two reasons to refuse a write is named, and the digits of a great score.
std::string without_style(const std::string& reply) {
  static const std::regex words(R"((^|\n)-(\w+) [^\r]*)");
  static const std::regex refusal(R"(-(OOM|READONLY)\r)");
  static const std::regex great(R"(\$\d+\r\n(\d{16,}|\d[\d.]*e\+\d+)\r)");
  const std::string plain =
      std::regex_replace(std::regex_replace(reply, words, "$1-$2"), refusal, "-MISCONF\r");
  std::string text;
  std::sregex_iterator each(plain.begin(), plain.end(), great), end;
  std::size_t read = 0;
  for (; each != end; ++each) {
    const auto at = static_cast<std::size_t>(each->position());
    text += plain.substr(read, at - read) + score_text(std::stod((*each)[1])) + "\r";
    read = at + static_cast<std::size_t>(each->length());
  }
  return text + plain.substr(read);
}

/// One line for each key: its kind, its expiry and what it holds.
using Keys = std::map<std::string, std::string>;
std::string to_text(const Keys& keys) {
  std::string text;
  for (const auto& [key, line] : keys) text += printable(key) + ": " + printable(line) + "\n";
  return text;
}

}  // namespace

std::string printable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\r') {
      text += "\\r";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\0') {
      text += "\\0";
    } else {
      text += c;
    }
  }
  return text;
}

Twins::Twins(Settings settings)
    : settings_(std::move(settings)),
      clock_((directory_.path() / "clock").string()),
      cluster_(test::ClusterSettings{.size = 1,
                                     .durable = settings_.durable,
                                     .more = settings_.more,
                                     .enrolled = false,
                                     .environments = {clock_.environment()}}),
      simulated_({.durable = settings_.durable, .password = settings_.password}) {
  clock_.run_at(0);
  connect();
}

void Twins::connect() {
  for (auto* const each : {&real_, &control_, &observer_}) each->emplace(url());
  connection_ = simulated_.connections.open();
  its_observer_ = simulated_.connections.open();
  if (!settings_.password.empty()) control({"AUTH", settings_.password});
  if (settings_.mute) {
    control({"ACL", "SETUSER", "mute", "on", "nopass", "~*", "+@all", "resetchannels"});
    EXPECT_FALSE((*real_)({"AUTH", "mute", "any"}).is_error());
  }
  now_us_ = real_now_us();
  exact_ = control({"INFO", "server"}).text.find("redis_version:7.0.") != std::string::npos;
  if (settings_.channels.empty()) return;
  Words subscribe = {"SUBSCRIBE"};
  subscribe.insert(subscribe.end(), settings_.channels.begin(), settings_.channels.end());
  std::string told = to_resp((*observer_)(subscribe));
  for (std::size_t i = 1; i < settings_.channels.size(); ++i) told += to_resp(observer_->read());
  expect_same_reply(subscribe, told, ask_simulated(its_observer_, subscribe));
}

Reply Twins::ask(const Words& words) {
  Reply reply = compare_replies(words);
  if (!settings_.channels.empty() && !settings_.mute) {
    observer_->send({"PING"});
    std::string told;
    for (told_ = false;; told_ = true) {
      const Reply message = observer_->read();
      told += to_resp(message);
      if (message.elements.empty() || message.elements[0].text == "pong") break;
    }
    expect_same_reply(words, told, ask_simulated(its_observer_, {"PING"}));
  }
  const std::string real = real_keys();
  EXPECT_EQ(simulated_keys(), real)
      << "the simulated server's keys, and the real one's, after " << words[0];
  return reply;
}

Reply Twins::compare_replies(const Words& words) {
  Reply real = (*real_)(words);
  expect_same_reply(words, to_resp(real), ask_simulated(connection_, words));
  return real;
}

std::pair<std::string, std::string> Twins::replies(const Words& words) {
  return {to_resp((*real_)(words)), ask_simulated(connection_, words)};
}

std::string Twins::ask_simulated(int connection, const Words& words) {
  simulated_.connections.feed(connection, command_bytes(words));
  simulated_.execute_next(connection, std::chrono::microseconds(now_us_));
  return simulated_.connections.take_output(connection);
}

void Twins::expect_same_reply(const Words& words, const std::string& real,
                              const std::string& simulated) {
  if (simulated == real || (!exact_ && without_style(simulated) == without_style(real))) return;
  std::string asked;
  // A script's source would hide the rest.
  for (const std::string& word : words) {
    asked += (word.size() > 200 ? "(source)" : "'" + printable(word) + "'") + " ";
  }
  EXPECT_EQ(printable(simulated), printable(real))
      << "the simulated server's reply, and the real one's, to " << asked << "at " << now_us_;
}

std::string Twins::real_keys() {
  const Reply all = control({"EVAL",
                             "local all = {} "
                             "for _, key in ipairs(redis.call('KEYS', '*')) do "
                             "  local kind, value = redis.call('TYPE', key).ok, {} "
                             "  if kind == 'string' then value = {redis.call('GET', key)} end "
                             "  if kind == 'hash' then value = redis.call('HGETALL', key) end "
                             "  if kind == 'zset' then "
                             "    value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end "
                             "  all[#all + 1] = {key, kind, redis.call('PEXPIRETIME', key), value} "
                             "end return all",
                             "0"});
  EXPECT_FALSE(all.is_error()) << all.text;
  Keys keys;
  for (const Reply& each : all.elements) {
    const std::string& kind = each.elements.at(1).text;
    const std::vector<Reply>& value = each.elements.at(3).elements;
    std::map<std::string, std::string> fields;
    std::string text;
    for (std::size_t i = 0; i + 1 < value.size(); i += 2) {
      if (kind == "hash") fields[value[i].text] = value[i + 1].text;
      if (kind == "zset")
        text += value[i].text + " " + score_text(std::stod(value[i + 1].text)) + " ";
    }
    for (const auto& [field, its] : fields) text += field + " " + its + " ";
    if (kind == "string") text = value.at(0).text;
    keys[each.elements.at(0).text] =
        kind + " " + std::to_string(each.elements.at(2).integer) + " " + text;
  }
  return to_text(keys);
}

std::string Twins::simulated_keys() {
  Keys keys;
  for (const auto& [key, value] : simulated_.at(std::chrono::microseconds(now_us_)).keys()) {
    std::string kind = "string", text;
    if (const auto* const fields = std::get_if<Value::Hash>(&value.data)) {
      kind = "hash";
      for (const auto& [field, its] : *fields) text += field + " " + its + " ";
    } else if (const Value::SortedSet* const set = value.sorted_set()) {
      kind = "zset";
      std::set<std::pair<double, std::string>> order;
      for (const auto& [member, score] : *set) order.emplace(score, member);
      for (const auto& [score, member] : order) text += member + " " + score_text(score) + " ";
    } else {
      text = *value.text();
    }
    keys[key] = kind + " " + std::to_string(value.expires.value_or(-1)) + " " + text;
  }
  return to_text(keys);
}

void Twins::pass(std::chrono::microseconds time) {
  clock_.step(time);
  now_us_ += time.count();
  EXPECT_EQ(real_now_us(), now_us_);
}

std::int64_t Twins::real_now_us() {
  const Reply time = control({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1000000 + std::stoll(time.elements.at(1).text);
}

void Twins::set_out_of_memory(bool on) {
  control({"CONFIG", "SET", "maxmemory", on ? "1" : "0"});
  simulated_.conditions.out_of_memory = on;
}

void Twins::set_replica(bool on) {
  // Nobody listens on port 1.
  control(on ? Words{"REPLICAOF", "127.0.0.1", "1"} : Words{"REPLICAOF", "NO", "ONE"});
  simulated_.conditions.replica = on;
}

void Twins::restart() {
  cluster_.kill(0);
  simulated_.crash();
  cluster_.restart(0);
  simulated_.restart(std::chrono::microseconds(now_us_));
  connect();
}

}  // namespace quorumlock::sim
