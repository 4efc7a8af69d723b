#include "sim/twins.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "redis/keys.hpp"
#include "redis/scripts.hpp"
#include "sim/data_commands.hpp"
#include "sim/resp.hpp"
#include "sim/same_words.hpp"

namespace quorumlock::sim {
namespace {

using test::Reply;

TrueTime at_us(std::int64_t us) {
  return std::chrono::microseconds(us);
}

std::string command_bytes(const Words& words) {
  std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) bytes += resp::bulk(word);
  return bytes;
}

std::int64_t us_of(const Reply& time) {
  return std::stoll(time.elements.at(0).text) * 1000000 + std::stoll(time.elements.at(1).text);
}

bool is_script(const Words& words, const redis::Script& script) {
  return words.size() > 1 && words[0].starts_with("EVAL") &&
         (words[1] == script.sha1 || words[1] == script.source);
}

/// Whether a script handles several locks, one after another.
bool is_batch(const Words& words) {
  return (is_script(words, redis::acquire_script) && words[2] == "1") ||
         (is_script(words, redis::release_script) && words[2] == "0") ||
         is_script(words, redis::renew_script);
}

/// The time at which a script ran, according to its reply: the third element, or the first one of a
/// batch.
std::optional<std::int64_t> script_time(const Words& words, const Reply& reply) {
  if (!words[0].starts_with("EVAL") || is_script(words, redis::queue_script) ||
      is_script(words, redis::release_script) || is_script(words, redis::release_all_script) ||
      is_script(words, redis::release_permit_script)) {
    return std::nullopt;
  }
  const std::size_t place = is_batch(words) ? 0 : 2;
  if (reply.type != Reply::Type::array || reply.elements.size() <= place) return std::nullopt;
  if (reply.elements[place].type != Reply::Type::integer) return std::nullopt;
  return reply.elements[place].integer;
}

/// Whether this element of the reply is a remaining time.
bool is_remaining(const Words& words, std::size_t element) {
  if (data::lower(words[0]) == "pttl") return true;
  if (is_script(words, redis::queue_script)) return element % 5 == 3;
  if (is_script(words, redis::acquire_script) && is_batch(words)) return element % 4 == 3;
  return words[0].starts_with("EVAL") && element == 3;
}

/// Whether replies are equal byte for byte, except that a remaining time may have shrunk meanwhile.
bool same(const Words& words, const Reply& real, std::string_view simulated, std::int64_t passed_ms,
          bool exact) {
  const bool array = real.type == Reply::Type::array;
  const std::string head = array ? "*" + std::to_string(real.elements.size()) + "\r\n" : "";
  if (!simulated.starts_with(head)) return false;
  simulated.remove_prefix(head.size());
  const std::vector<Reply> elements = array ? real.elements : std::vector{real};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string here = to_resp(elements[i]);
    const std::string_view there = simulated.substr(0, simulated.find("\r\n") + 2);
    if (simulated.starts_with(here)) {
      simulated.remove_prefix(here.size());
      continue;
    }
    if (!exact && same_code(here, there)) {
      simulated.remove_prefix(there.size());
      continue;
    }
    if (!exact && same_score(elements[i], simulated)) {
      (void)resp::take_bulk(simulated);
      continue;
    }
    if (!is_remaining(words, i) || !here.starts_with(':') || !there.starts_with(':')) return false;
    const long long more = std::stoll(std::string(there.substr(1))) - elements[i].integer;
    if (elements[i].integer < 0 || more < 0 || more > passed_ms + 1) return false;
    simulated.remove_prefix(there.size());
  }
  return simulated.empty();
}

/// Whether the key is a line, or a lock, which readers may have.
bool may_be_sorted(const std::string& key) {
  return key.starts_with(redis::queue_prefix) || key.starts_with(redis::waiting_prefix) ||
         !key.starts_with(redis::own_prefix);
}

/// Members and scores of a sorted set as ZRANGE returns them.
std::vector<std::pair<std::string, std::string>> members_of(const std::string& reply) {
  std::vector<std::pair<std::string, std::string>> found;
  std::string_view rest = std::string_view(reply).substr(reply.find("\r\n") + 2);
  while (!rest.empty()) {
    std::string member = *resp::take_bulk(rest);
    found.emplace_back(std::move(member), *resp::take_bulk(rest));
  }
  return found;
}

/// The members and scores of `one` if `other` has the same members, with scores that differ by at
/// most `most`; otherwise empty.
std::vector<std::pair<std::string, std::string>> close_scores(const std::string& one,
                                                              const std::string& other,
                                                              std::int64_t most) {
  const auto these = members_of(one);
  const auto those = members_of(other);
  const bool close = std::ranges::equal(these, those, [most](const auto& here, const auto& there) {
    return here.first == there.first &&
           std::abs(std::stod(here.second) - std::stod(there.second)) <= double(most);
  });
  return close ? these : std::vector<std::pair<std::string, std::string>>();
}

}  // namespace

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
      cluster_(
          {.size = 1, .durable = settings_.durable, .more = settings_.more, .enrolled = false}),
      simulated_({.durable = settings_.durable, .password = settings_.password}) {
  connect();
}

void Twins::connect() {
  real_.emplace(cluster_.server(0).url());
  control_.emplace(cluster_.server(0).url());
  connection_ = simulated_.connections.open();
  if (!settings_.password.empty()) control({"AUTH", settings_.password});
  const std::string info = control({"INFO", "server"}).text;
  exact_ = info.find("redis_version:7.0.") != info.npos;
  now_us_ = us_of(control({"TIME"}));
}

Reply Twins::ask(const Words& words) {
  // All three commands are sent in one write, so that hardly any time passes between them. But
  // Redis 8 drops the error of an AUTH that it read together with a command before it.
  real_->send({"TIME"});
  const bool alone = data::lower(words.at(0)) == "auth";
  Reply before;
  if (alone) before = real_->read();
  real_->send(words);
  real_->send({"TIME"});
  std::string asked;
  for (const std::string& word : words) {
    // A script's source would hide the rest.
    asked += (word.size() > 100 ? "(source)" : "'" + printable(word) + "'") + " ";
  }
  Reply reply, after;
  try {
    if (!alone) before = real_->read();
    reply = real_->read();
    after = real_->read();
  } catch (const std::exception& failure) {
    throw std::runtime_error(asked + "-> " + failure.what());
  }
  const Span span{us_of(before), us_of(after)};
  now_us_ = span.to;
  asked.insert(0, std::to_string(span.from) + " ");
  const std::string answered = printable(to_resp(reply));
  story_ += asked + "-> " + answered + "\n";

  const Look there = look();
  std::string difference;
  bool undecided = key_dies_in(simulated_, span);
  for (const std::int64_t when : span.instants(words, reply)) {
    Server tried = simulated_;
    tried.connections.feed(connection_, command_bytes(words));
    tried.execute_next(connection_, at_us(when));
    const std::string simulated = tried.connections.take_output(connection_);
    difference = same(words, reply, simulated, span.ms(), exact_)
                     ? compare(tried, there, span)
                     : "the simulated one answers " + printable(simulated);
    undecided = undecided || key_dies_in(tried, span);
    if (!difference.empty()) continue;
    simulated_ = std::move(tried);
    return reply;
  }
  if (!undecided) throw std::runtime_error(asked + "-> " + answered + "; " + difference);
  ++undecided_;
  start_over();
  return reply;
}

std::vector<std::int64_t> Twins::Span::instants(const Words& words, const Reply& reply) const {
  if (words[0] == "TIME") return {us_of(reply)};
  if (const auto told = script_time(words, reply)) {
    if (*told < from || *told > to) {
      throw std::runtime_error("a script reports a time at which it did not run: " +
                               printable(to_resp(reply)));
    }
    return {*told};
  }
  if (words[0].starts_with("EVAL") && reply.is_error()) {
    // The script may have failed half-way, after it had made a fence from the time, which may be
    // any instant of the span.
    std::vector<std::int64_t> all(static_cast<std::size_t>(to - from) + 1);
    std::iota(all.begin(), all.end(), from);
    return all;
  }
  std::vector<std::int64_t> all = {from};
  for (std::int64_t ms = from / 1000 + 1; ms * 1000 <= to; ++ms) all.push_back(ms * 1000);
  all.push_back(to);
  return all;
}

bool Twins::key_dies_in(const Server& simulated, const Span& span) {
  return std::ranges::any_of(simulated.at(at_us(span.from)).keys(), [&span](const auto& each) {
    const auto& expires = each.second.expires;
    return expires && *expires >= span.from / 1000 - 1 && *expires <= span.to / 1000 + 1;
  });
}

std::pair<std::string, std::string> Twins::replies(const Words& words) {
  const std::string real = to_resp((*real_)(words));
  simulated_.connections.feed(connection_, command_bytes(words));
  simulated_.execute_next(connection_, at_us(now_us_));
  return {real, simulated_.connections.take_output(connection_)};
}

void Twins::expect_same(const Words& words) {
  const auto [real, simulated] = replies(words);
  EXPECT_EQ(printable(simulated), printable(real)) << words[0] << " " << words.back();
}

Twins::Look Twins::look() {
  Words mget = {"MGET"};
  mget.insert(mget.end(), settings_.watched.begin(), settings_.watched.end());
  control_->send(mget);
  for (const std::string& key : settings_.watched) control_->send({"PEXPIRETIME", key});
  for (const std::string& key : settings_.watched) {
    if (may_be_sorted(key)) control_->send({"ZRANGE", key, "0", "-1", "WITHSCORES"});
  }
  control_->send({"TIME"});
  Look look;
  look.values = control_->read();
  for (std::size_t i = 0; i < settings_.watched.size(); ++i) {
    look.expiries.push_back(control_->read().integer);
  }
  for (const std::string& key : settings_.watched) {
    if (may_be_sorted(key)) look.sorted[key] = to_resp(control_->read());
  }
  look.ends_ms = us_of(control_->read()) / 1000;
  return look;
}

std::string Twins::compare(Server& simulated, const Look& look, const Span& span) const {
  const std::map<std::string, Value> keys = simulated.at(at_us(span.to)).keys();
  for (std::size_t i = 0; i < settings_.watched.size(); ++i) {
    const std::string& key = settings_.watched[i];
    const auto found = keys.find(key);
    const Value* const value = found == keys.end() ? nullptr : &found->second;
    const std::string name = "'" + printable(key) + "' ";
    const auto take_over = [&](const std::string& expires) {
      simulated.connections.feed(connection_, command_bytes({"PEXPIREAT", key, expires}));
      simulated.execute_next(connection_, at_us(span.to));
      simulated.connections.take_output(connection_);
    };
    if (look.expiries[i] == -2 && value != nullptr && value->expires &&
        *value->expires <= look.ends_ms) {
      take_over("1");  // the key has expired since
      continue;
    }
    if ((look.expiries[i] != -2) != (value != nullptr)) {
      return name + (value != nullptr ? "is gone from the real server only"
                                      : "is on the real server only");
    }
    if (value == nullptr) continue;
    if (to_resp(look.values.elements[i]) != resp::bulk_or_nil(value->text())) {
      return name + "is " + printable(to_resp(look.values.elements[i])) + " on the real server, " +
             printable(resp::bulk_or_nil(value->text())) + " on the simulated one";
    }
    if (may_be_sorted(key)) {
      simulated.connections.feed(connection_,
                                 command_bytes({"ZRANGE", key, "0", "-1", "WITHSCORES"}));
      simulated.execute_next(connection_, at_us(span.to));
      const std::string there = simulated.connections.take_output(connection_);
      const bool gone = look.sorted.at(key) == resp::array({});
      if (there != look.sorted.at(key) && gone && value->expires &&
          *value->expires <= look.ends_ms) {
        take_over("1");  // the key expired during the look
        continue;
      }
      if (there != look.sorted.at(key)) {
        // The scores may be ends of lives that were computed from a remaining time.
        const auto lives = close_scores(look.sorted.at(key), there, span.ms() + 1);
        if (lives.empty() || key.starts_with(redis::own_prefix)) {
          return name + "is " + printable(look.sorted.at(key)) + " on the real server, " +
                 printable(there) + " on the simulated one";
        }
        for (const auto& [member, score] : lives) {
          simulated.connections.feed(connection_, command_bytes({"ZADD", key, score, member}));
          simulated.execute_next(connection_, at_us(span.to));
          simulated.connections.take_output(connection_);
        }
      }
    }
    const std::int64_t expires = value->expires.value_or(-1);
    const std::int64_t most = span.ms() + 1;
    if (look.expiries[i] == expires) continue;
    if (expires < 0 || look.expiries[i] < 0 || std::abs(look.expiries[i] - expires) > most) {
      return name + "expires at " + std::to_string(look.expiries[i]) + " on the real server, at " +
             std::to_string(expires) + " on the simulated one";
    }
    take_over(std::to_string(look.expiries[i]));
  }
  return "";
}

void Twins::start_over() {
  control({"REPLICAOF", "NO", "ONE"});
  control({"FLUSHALL"});
  control({"SCRIPT", "FLUSH"});  // an undecided command has loaded its script on one server only
  simulated_.conditions.replica = false;
  simulated_.data.clear();
  simulated_.scripts.flush();
  story_ += "a key expired meanwhile: all flushed\n";
}

void Twins::set_out_of_memory(bool on) {
  control({"CONFIG", "SET", "maxmemory", on ? "1" : "0"});
  simulated_.conditions.out_of_memory = on;
  story_ += on ? "out of memory\n" : "memory again\n";
}

void Twins::set_replica(bool on) {
  // Nobody listens on port 1.
  control(on ? Words{"REPLICAOF", "127.0.0.1", "1"} : Words{"REPLICAOF", "NO", "ONE"});
  simulated_.conditions.replica = on;
  story_ += on ? "a replica\n" : "a master\n";
}

void Twins::restart() {
  cluster_.kill(0);
  simulated_.crash();
  cluster_.restart(0);
  story_ += "restarted\n";
  simulated_.restart(at_us(now_us_));
  connect();
}

}  // namespace quorumlock::sim
