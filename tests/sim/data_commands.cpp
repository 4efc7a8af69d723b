#include "sim/data_commands.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "sim/connections.hpp"
#include "sim/glob.hpp"
#include "sim/resp.hpp"

namespace quorumlock::sim::data {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || last != end) return std::nullopt;
  const bool padded = text.size() > 1 && (text[0] == '0' || (text[0] == '-' && text[1] == '0'));
  if (padded) return std::nullopt;
  return number;
}

std::string lower(std::string_view text) {
  std::string copy(text);
  for (char& c : copy) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return copy;
}

std::string number_text(double number) {
  std::array<char, 40> text;
  const bool whole = number == std::trunc(number) && std::abs(number) < 9007199254740992.0;
  if (!whole) {
    return {text.data(),
            static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", number))};
  }
  return std::to_string(static_cast<std::int64_t>(number));
}

namespace {

std::string invalid_expire_time(std::string_view command) {
  return resp::error("ERR invalid expire time in '" + std::string(command) + "' command");
}

bool too_far(std::int64_t ms, std::int64_t from) {
  return ms > std::numeric_limits<std::int64_t>::max() - from;
}

/// Sets an expiry counted from `from`; a time that has passed deletes the key.
std::string expire(const Moment& moment, Arguments words, std::int64_t from,
                   std::string_view name) {
  const bool only_later = words.size() == 4 && lower(words[3]) == "gt";
  if (words.size() > 3 && !only_later) return resp::error("ERR Unsupported option " + words[3]);
  const auto ms = whole_number(words[2]);
  if (!ms) return resp::error(not_an_integer);
  if (too_far(*ms, from)) return invalid_expire_time(name);
  Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return resp::integer(0);
  if (only_later && (!value->expires || *ms + from <= *value->expires)) return resp::integer(0);
  value->expires = *ms + from;
  if (*value->expires <= moment.now_ms()) moment.keys->erase(words[1], moment.now_ms());
  return resp::integer(1);
}

/// Returns the value of a key of this kind, or null if there is no such key; `error` is set if the
/// key is of another kind.
template <class Kind>
Kind* kept(const Moment& moment, const std::string& key, bool& error) {
  Value* const value = moment.keys->find(key, moment.now_ms());
  if (value == nullptr) return nullptr;
  auto* const data = std::get_if<Kind>(&value->data);
  error = data == nullptr;
  return data;
}

/// Does the same, and makes the key if there is none.
template <class Kind>
Kind* kept_or_new(const Moment& moment, const std::string& key, bool& error) {
  if (moment.keys->find(key, moment.now_ms()) == nullptr) moment.keys->put(key, Value{Kind(), {}});
  return kept<Kind>(moment, key, error);
}

std::string field_of(const Value::Hash* fields, const std::string& name) {
  if (fields == nullptr) return std::string(resp::nil);
  const auto found = fields->find(name);
  return resp::bulk_or_nil(found != fields->end() ? &found->second : nullptr);
}

/// The range from the first place to the one after the last; a negative place counts from the end.
std::pair<std::size_t, std::size_t> range(std::int64_t start, std::int64_t stop, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t from = std::max<std::int64_t>(start < 0 ? start + count : start, 0);
  const std::int64_t to = std::min(stop < 0 ? stop + count : stop, count - 1);
  if (from > to) return {0, 0};
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(to) + 1};
}

/// The set's scores and members, of which the places of this range are in Redis's order.
std::vector<std::pair<double, std::string_view>> in_order(const Value::SortedSet& set,
                                                          std::size_t from, std::size_t to) {
  std::vector<std::pair<double, std::string_view>> order;
  order.reserve(set.size());
  for (const auto& [member, number] : set) order.emplace_back(number, member);
  const auto place = [&order](std::size_t at) {
    return order.begin() + static_cast<std::ptrdiff_t>(at);
  };
  // Scripts mostly ask for one or two places of a long line.
  if (from > 0 && from < to) std::ranges::nth_element(order, place(from));
  std::ranges::partial_sort(place(from), place(to), order.end());
  return order;
}

/// The end of a range of scores from the least one up to this one, without it.
std::optional<double> score_before(Arguments words) {
  double most = 0;
  const char* const end = words[3].data() + words[3].size();
  const bool known = words[2] == "-inf" && words[3].starts_with('(') &&
                     std::from_chars(words[3].data() + 1, end, most).ptr == end;
  return known ? std::optional(most) : std::nullopt;
}

}  // namespace

std::string del(const Moment& moment, Arguments words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    count += moment.keys->erase(words[i], moment.now_ms()) ? 1 : 0;
  }
  return resp::integer(count);
}

std::string exists(const Moment& moment, Arguments words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    count += moment.keys->find(words[i], moment.now_ms()) != nullptr ? 1 : 0;
  }
  return resp::integer(count);
}

std::string get(const Moment& moment, Arguments words) {
  const Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return std::string(resp::nil);
  if (value->text() == nullptr) return resp::error(wrong_type);
  return resp::bulk(*value->text());
}

std::string getrange(const Moment& moment, Arguments words) {
  const auto start = whole_number(words[2]);
  const auto stop = whole_number(words[3]);
  if (!start || !stop) return resp::error(not_an_integer);
  const Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return resp::bulk("");
  if (value->text() == nullptr) return resp::error(wrong_type);
  const auto [from, to] = range(*start, *stop, value->text()->size());
  return resp::bulk(std::string_view(*value->text()).substr(from, to - from));
}

std::string hdel(const Moment& moment, Arguments words) {
  bool error = false;
  Value::Hash* const fields = kept<Value::Hash>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (fields == nullptr) return resp::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    removed += static_cast<std::int64_t>(fields->erase(words[i]));
  }
  if (fields->empty()) moment.keys->erase(words[1], moment.now_ms());
  return resp::integer(removed);
}

std::string hget(const Moment& moment, Arguments words) {
  bool error = false;
  const Value::Hash* const fields = kept<Value::Hash>(moment, words[1], error);
  return error ? resp::error(wrong_type) : field_of(fields, words[2]);
}

std::string hmget(const Moment& moment, Arguments words) {
  bool error = false;
  const Value::Hash* const fields = kept<Value::Hash>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  std::vector<std::string> values;
  for (std::size_t i = 2; i < words.size(); ++i) values.push_back(field_of(fields, words[i]));
  return resp::array(values);
}

std::string hset(const Moment& moment, Arguments words) {
  if (words.size() % 2 != 0) {
    return resp::error("ERR wrong number of arguments for 'hset' command");
  }
  bool error = false;
  Value::Hash* const fields = kept_or_new<Value::Hash>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    added += fields->insert_or_assign(words[i], words[i + 1]).second ? 1 : 0;
  }
  return resp::integer(added);
}

std::string incr(const Moment& moment, Arguments words) {
  const Value* const found = moment.keys->find(words[1], moment.now_ms());
  Value value = found != nullptr ? *found : Value{"0", {}};
  if (value.text() == nullptr) return resp::error(wrong_type);
  const auto number = whole_number(*value.text());
  if (!number) return resp::error(not_an_integer);
  if (*number == std::numeric_limits<std::int64_t>::max()) {
    return resp::error("ERR increment or decrement would overflow");
  }
  value.data = std::to_string(*number + 1);
  moment.keys->put(words[1], std::move(value));
  return resp::integer(*number + 1);
}

std::string mget(const Moment& moment, Arguments words) {
  std::string reply;
  reply.reserve(words.size() * 40);
  resp::append_line(reply, '*', static_cast<std::int64_t>(words.size()) - 1);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Value* const value = moment.keys->find(words[i], moment.now_ms());
    resp::append_bulk_or_nil(reply, value != nullptr ? value->text() : nullptr);
  }
  return reply;
}

std::string pexpire(const Moment& moment, Arguments words) {
  return expire(moment, words, moment.now_ms(), "pexpire");
}

std::string pexpireat(const Moment& moment, Arguments words) {
  return expire(moment, words, 0, "pexpireat");
}

std::string publish(const Moment& moment, Arguments words) {
  return resp::integer(moment.connections->publish(words[1], words[2]));
}

std::string pttl(const Moment& moment, Arguments words) {
  const Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return resp::integer(-2);
  if (!value->expires) return resp::integer(-1);
  return resp::integer(std::max<std::int64_t>(*value->expires - moment.now_ms(), 0));
}

std::string scan(const Moment& moment, Arguments words) {
  const auto cursor = whole_number(words[1]);
  if (!cursor || *cursor < 0) return resp::error("ERR invalid cursor");
  std::string pattern = "*";
  std::size_t count = 10;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size()) return resp::error(syntax_error);
    const std::string option = lower(words[i]);
    if (option == "match") {
      pattern = words[i + 1];
    } else if (option == "count") {
      const auto wanted = whole_number(words[i + 1]);
      if (!wanted) return resp::error(not_an_integer);
      if (*wanted < 1) return resp::error(syntax_error);
      count = static_cast<std::size_t>(*wanted);
    } else {
      return resp::error(syntax_error);
    }
  }
  // The keys have a fixed order of places, as in Redis: the cursor is a place in that order, so a
  // key that is present all the time is returned, whatever comes and goes meanwhile.
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [key, value] : moment.keys->at(moment.now_ms())) {
    std::uint32_t place = 2166136261U;
    for (const char c : key) place = (place ^ static_cast<unsigned char>(c)) * 16777619U;
    if (place >= *cursor) order.emplace_back(place, key);
  }
  std::ranges::sort(order);
  std::vector<std::string> keys;
  std::size_t seen = 0;
  while (seen < order.size() && (seen < count || order[seen].first == order[seen - 1].first)) {
    const std::string& key = order[seen++].second;
    if (glob_match(pattern, key)) keys.push_back(resp::bulk(key));
  }
  const std::int64_t next = seen < order.size() ? order[seen].first : 0;
  return resp::array({resp::bulk(std::to_string(next)), resp::array(keys)});
}

std::string set(const Moment& moment, Arguments words) {
  bool absent_only = false;
  bool wants_old = false;
  const std::string* px = nullptr;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "nx") {
      absent_only = true;
    } else if (option == "get") {
      wants_old = true;
    } else if (option == "px" && px == nullptr && i + 1 < words.size()) {
      px = &words[++i];
    } else {
      return resp::error(syntax_error);
    }
  }
  std::optional<std::int64_t> expires;
  if (px != nullptr) {
    const auto ms = whole_number(*px);
    if (!ms) return resp::error(not_an_integer);
    if (*ms <= 0 || too_far(*ms, moment.now_ms())) return invalid_expire_time("set");
    expires = *ms + moment.now_ms();
  }
  std::string reply = resp::status("OK");
  if (wants_old) {
    reply = get(moment, words);
    if (resp::is_error(reply)) return reply;
  }
  if (absent_only && moment.keys->find(words[1], moment.now_ms()) != nullptr) {
    return wants_old ? reply : std::string(resp::nil);
  }
  moment.keys->put(words[1], Value{words[2], expires});
  return reply;
}

std::string strlen(const Moment& moment, Arguments words) {
  const Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return resp::integer(0);
  if (value->text() == nullptr) return resp::error(wrong_type);
  return resp::integer(static_cast<std::int64_t>(value->text()->size()));
}

std::string type(const Moment& moment, Arguments words) {
  const Value* const value = moment.keys->find(words[1], moment.now_ms());
  if (value == nullptr) return resp::status("none");
  if (value->text() != nullptr) return resp::status("string");
  return resp::status(value->sorted_set() != nullptr ? "zset" : "hash");
}

std::string time(const Moment& moment, Arguments) {
  std::string reply;
  resp::append_line(reply, '*', 2);
  resp::append_bulk(reply, std::to_string(moment.now_us / 1000000));
  resp::append_bulk(reply, std::to_string(moment.now_us % 1000000));
  return reply;
}

std::string zadd(const Moment& moment, Arguments words) {
  // The only options are GT and CH together, in this order.
  const bool only_greater = words.size() > 4 && lower(words[2]) == "gt" && lower(words[3]) == "ch";
  if (words.size() % 2 != 0) return resp::error(syntax_error);
  std::vector<std::pair<std::string, double>> members;
  for (std::size_t i = only_greater ? 4 : 2; i < words.size(); i += 2) {
    double number = 0;
    const char* const end = words[i].data() + words[i].size();
    const auto [last, failed] = std::from_chars(words[i].data(), end, number);
    if (failed != std::errc() || last != end) return resp::error("ERR value is not a valid float");
    members.emplace_back(words[i + 1], number);
  }
  bool error = false;
  Value::SortedSet* const set = kept_or_new<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  std::int64_t changed = 0;
  for (const auto& [member, number] : members) {
    const auto [found, added] = set->try_emplace(member, number);
    const bool grows = !added && found->second < number;
    if (!only_greater || grows) found->second = number;
    changed += added || (only_greater && grows) ? 1 : 0;
  }
  return resp::integer(changed);
}

std::string zrem(const Moment& moment, Arguments words) {
  bool error = false;
  Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (set == nullptr) return resp::integer(0);
  std::int64_t removed = 0;
  for (std::size_t i = 2; i < words.size(); ++i) {
    removed += static_cast<std::int64_t>(set->erase(words[i]));
  }
  if (set->empty()) moment.keys->erase(words[1], moment.now_ms());
  return resp::integer(removed);
}

std::string zrangebyscore(const Moment& moment, Arguments words) {
  const auto most = score_before(words);
  if (!most) return resp::error("ERR min or max is not a float");
  const bool limited = words.size() == 7 && lower(words[4]) == "limit" && words[5] == "0";
  if (words.size() != 4 && !limited) return resp::error(syntax_error);
  const auto limit = limited ? whole_number(words[6]) : std::numeric_limits<std::int64_t>::max();
  if (!limit) return resp::error(not_an_integer);
  bool error = false;
  const Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  std::vector<std::pair<double, std::string_view>> order;
  if (set != nullptr) {
    for (const auto& [member, number] : *set) {
      if (number < *most) order.emplace_back(number, member);
    }
  }
  std::ranges::sort(order);
  std::vector<std::string> members;
  for (const auto& [number, member] : order) {
    if (static_cast<std::int64_t>(members.size()) == *limit) break;
    members.push_back(resp::bulk(member));
  }
  return resp::array(members);
}

std::string zremrangebyrank(const Moment& moment, Arguments words) {
  const auto start = whole_number(words[2]);
  const auto stop = whole_number(words[3]);
  if (!start || !stop) return resp::error(not_an_integer);
  bool error = false;
  Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (set == nullptr) return resp::integer(0);
  const auto [from, to] = range(*start, *stop, set->size());
  const auto order = in_order(*set, from, to);
  for (std::size_t i = from; i < to; ++i) set->erase(std::string(order[i].second));
  if (set->empty()) moment.keys->erase(words[1], moment.now_ms());
  return resp::integer(static_cast<std::int64_t>(to - from));
}

std::string zremrangebyscore(const Moment& moment, Arguments words) {
  const auto most = score_before(words);
  if (!most) return resp::error("ERR min or max is not a float");
  bool error = false;
  Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (set == nullptr) return resp::integer(0);
  const auto removed =
      std::erase_if(*set, [&most](const auto& member) { return member.second < *most; });
  if (set->empty()) moment.keys->erase(words[1], moment.now_ms());
  return resp::integer(static_cast<std::int64_t>(removed));
}

std::string zscore(const Moment& moment, Arguments words) {
  bool error = false;
  const Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (set == nullptr || !set->contains(words[2])) return std::string(resp::nil);
  return resp::bulk(number_text(set->at(words[2])));
}

std::string zrange(const Moment& moment, Arguments words) {
  const auto start = whole_number(words[2]);
  const auto stop = whole_number(words[3]);
  const bool with_scores = words.size() == 5 && lower(words[4]) == "withscores";
  if (words.size() > 5 || (words.size() == 5 && !with_scores)) return resp::error(syntax_error);
  if (!start || !stop) return resp::error(not_an_integer);
  bool error = false;
  const Value::SortedSet* const set = kept<Value::SortedSet>(moment, words[1], error);
  if (error) return resp::error(wrong_type);
  if (set == nullptr) return resp::array({});
  const auto [from, to] = range(*start, *stop, set->size());
  const auto order = in_order(*set, from, to);
  std::string reply;
  resp::append_line(reply, '*', static_cast<std::int64_t>((to - from) * (with_scores ? 2 : 1)));
  for (std::size_t i = from; i < to; ++i) {
    resp::append_bulk(reply, order[i].second);
    if (with_scores) resp::append_bulk(reply, number_text(order[i].first));
  }
  return reply;
}

}  // namespace quorumlock::sim::data
