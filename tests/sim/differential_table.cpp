#include "sim/differential_table.hpp"

#include <algorithm>
#include <cctype>

#include "support/scripts.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::sim::table {
namespace {

using namespace std::string_literals;

/// Names, and what a word of that name may be. The first alternative is the usual one.
const std::map<std::string, std::string_view>& alternatives() {
  static const std::map<std::string, std::string_view> all = {
      // What commands of walks are about: few keys and few values, so that commands affect each
      // other. $two and $job are names with spaces and a zero byte.
      {"one", "orders:42"},
      {"any", "$one | $two"},
      {"lock", "$any"},
      {"enrolment", "quorumlock:enrolment"},
      {"candidate", "quorumlock:candidate"},
      {"members", "quorumlock:members"},
      {"repairer", "quorumlock:repairer"},
      {"sem", "quorumlock:semaphore:$job"},
      {"counter", "quorumlock:fence:$lock"},
      {"counters", "quorumlock:fence:$one quorumlock:fence:$two"},
      {"line", "quorumlock:queue:$lock | quorumlock:queue:$lock | quorumlock:waiting:$lock"},
      {"permit", "quorumlock:permit:$job:$slot"},
      {"key",
       "$any | quorumlock:fence:$any | quorumlock:replanted:$any | quorumlock:granted:$any | "
       "$enrolment | "
       "$candidate"},
      {"token", "token-1 | token-2 | token-3"},
      {"ttl", "20000 | 30000 | 60000 | 20000 | $short | $odd"},
      {"done", "quorumlock:once:$lock"},
      {"noted", "'' | '' | 0 | 7 | 8 | 1000 | $edge"},
      {"odd", "$short | 30000 | 30000 | 0 | -5 | 9223372036854775807"},
      {"life", "1000000 | 2592000000 | 1000000 | 2592000000 | $short | 0"},
      {"fence", "0 | 0 | 7 | 8 | 1000 | $us | $us-40000000 | $us+80000000 | $us+120000000 | $edge"},
      {"wall", "$us | $us | $us-40000000 | $us+120000000 | $fence"},
      {"edge", "0 | 7 | 8 | 9007199254740990 | 9007199254740991 | 9007199254740992"},
      {"late", "$us+5000000 | $us+5000000 | $us+5000000 | 0 | $us-1000 | $us | $us+1"},
      {"left", "9000000 | 9000000 | 0 | -4000000"},
      {"waiter",
       "$writer | $writer | r0123456789abcdef.3 | r0123456789abcdef.44 | "
       "rfedcba9876543210.5"},
      {"writer",
       "w0123456789abcdef.1 | w0123456789abcdef.22 | wfedcba9876543210.1 | "
       "wfedcba9876543210.333"},
      {"nobody", "'' | $waiter | $waiter"},
      {"entry", "3000 | 3000 | 3000 | 50 | 5"},
      {"ticket", "$us | $us-3 | $us+2 | 1 | 2 | 3"},
      {"flag", "1 | 0 | 1"},
      {"mode", "w | r"},
      {"by", "w | r | t"},
      {"barred", "0 | 0 | 30000"},
      {"slot", "1 | 2 | 3"},
      {"capacity", "3 | 3 | 3 | 2 | 1"},
      {"usual", "run-1:abc@#f.0s.d"},
      {"terms", "$usual | $usual | $usual | $usual | run-2:abc@#f.0s.e"},
      {"run", "run-1 | run-2"},
      {"waits", "$run:abc@#f.0s.e"},
      {"stands", "$run:abc@#f.0s.e;1 | $run:abc@#f.0s.e;1,n2=7 | $waits"},
      {"patience", "0 | 5000 | 100000000"},
      {"age", "0 | 1 | 9000000000000000"},
      {"votes", "$lock $counter"},
      {"both", "$one $two $counters"},
      // A batch never names another lock's counter, which no resource is called.
      {"named", "$any | $any | $any | $any | $any | $enrolment | $candidate"},
      {"asked", "$named $token $fence | $named $token $fence $asked"},
      {"given", "$named $token | $named $token $given"},
      {"places", "$waiter $ticket"},
      {"renewed", "$token $fence $left"},

      // What stories have in common.
      {"far", "9000000000000"},
      {"mine", "SET lock me PX 60000"},
      {"yours", "SET lock you PX 60000"},
      {"hash", "HSET lock field value"},
      {"count", "SET quorumlock:fence:lock 41"},
      {"my_record", "HSET quorumlock:leader:lock token me fence 7 version 3 value before"},
      {"your_record", "HSET quorumlock:leader:lock token you fence 6 version 9 value before"},
      {"record", "HMGET quorumlock:leader:lock token fence version value"},
      {"announce", "CALL announce lock quorumlock:leader:lock /"},
      {"withdraw", "CALL withdraw lock quorumlock:leader:lock / me"},
      {"leader", "CALL leader lock quorumlock:fence:lock quorumlock:leader:lock /"},
      {"done_by", "CALL once quorumlock:fence:lock quorumlock:once:lock lock /"},
      {"inspect", "CALL inspect lock /"},
      {"list_locks", "CALL locks / 0 * 100 ''"},
      {"slots", "SET quorumlock:semaphore:lock"},
      {"permit_of", "SET quorumlock:permit"},
      {"labelled", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@web-3:812"},
      {"digits", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
      {"get", "CALL acquire_all x quorumlock:fence:x /"},
      {"get_all", "CALL acquire_all x y quorumlock:fence:x quorumlock:fence:y /"},
      {"keep", "CALL renew_all x quorumlock:fence:x /"},
      {"keep_all", "CALL renew_all x y quorumlock:fence:x quorumlock:fence:y /"},
      {"raise_all", "CALL raise x y quorumlock:fence:x quorumlock:fence:y /"},
      {"drop", "CALL release_all x /"},
      {"drop_all", "CALL release_all x y /"},
      {"raise", "CALL raise x quorumlock:fence:x /"},
      {"in_line", "ZADD quorumlock:waiting:x $far"},
      {"r", "r0123456789abcdef"},
      {"w", "w0123456789abcdef"},
      {"latest", "9000000000000000"},
      {"ever", "9223372036854775807"},
  };
  return all;
}

}  // namespace

std::vector<Row> rows() {
  return {
      // Scripts, by name.
      {50, "CALL acquire / $ttl $wall $flag $fence $asked $terms $fence $life $life"},
      {70,
       "CALL acquire_all $votes / $token $ttl $fence $wall $flag $nobody $ticket $entry $mode 0 0 "
       "$terms $fence $life $life"},
      {35,
       "CALL acquire_all $both / $token $ttl $fence $wall $flag $nobody $ticket $entry $mode 0 0 "
       "$terms $fence $life $life"},
      {40,
       "CALL acquire_all $sem quorumlock:fence:$sem / $token $ttl $fence $wall $flag $nobody "
       "$ticket $entry w $slot $capacity $terms $fence $life $life"},
      {8, "CALL adopt $enrolment $candidate $members / $terms $terms n1,s,-,n1,n2"},
      {4, "CALL adopt $enrolment $candidate $members / '' $terms n1,s,-,n1,n2"},
      {5, "CALL announce $lock quorumlock:leader:$lock / $token $fence $fence text $ttl"},
      {8, "CALL candidate $enrolment $candidate / $patience $run $waits $life"},
      {8, "CALL enrol $enrolment $candidate $repairer $members / $age $terms $stands n1,s,-,n1,n2"},
      {5, "CALL witness $candidate / $stands $stands $life"},
      {5, "CALL inspect $lock / 1000 3"},
      {5, "CALL leader $lock $counter quorumlock:leader:$lock /"},
      {12, "CALL once $counter $done $lock / $fence $noted $life $token $terms $fence"},
      {3, "CALL periods $done $counter /"},
      {2, "SET $done $fence PX $ttl"},
      {1, "SET $done 12x"},
      {1, "HSET $done field $token"},
      {5, "CALL locks / 0 orders* 1000 ''"},  // one lock, since several have no order
      {15, "CALL queue $lock / $entry $places"},
      {8, "CALL queue $one $two / $entry $places $places"},
      {12, "CALL queue $sem / $entry $writer $ticket"},
      {15, "CALL raise $votes / $token $fence $terms $fence $life $life"},
      {8, "CALL raise $both / $token $fence $terms $fence $life $life"},
      {8, "CALL raise $permit quorumlock:fence:$sem / $token $fence $terms $fence $life $life"},
      {3, "CALL rights absent / quorumlock:wake:-"},
      {20, "CALL release / $given"},
      {25, "CALL release_all $lock / $token $nobody $nobody 0 $barred"},
      {12, "CALL release_all $one $two / $token $nobody $nobody 0 $barred"},
      {20, "CALL release_all $sem / $token $nobody $nobody $slot 0"},
      {10, "CALL renew $lock / $ttl $flag $renewed $late $terms $fence $life $life"},
      {8, "CALL renew $one $two / $ttl $flag $renewed $renewed $late $terms $fence $life $life"},
      {25,
       "CALL renew_all $votes / $token $ttl $fence $flag $by 0 0 $late $terms $fence $life $life"},
      {15,
       "CALL renew_all $both / $token $ttl $fence $flag $mode 0 0 $late $terms $fence $life $life"},
      {20,
       "CALL renew_all $sem quorumlock:fence:$sem / $token $ttl $fence $flag w $slot $capacity "
       "$late $terms $fence $life $life"},
      {8, "CALL repair $repairer $counters / me 2000 $life $fence $fence"},
      {2, "CALL repair $repairer $counters / another 2000 $life $fence $fence"},
      {5, "CALL replace $enrolment $candidate / $terms $waits $life"},
      {5, "CALL replace $candidate $candidate / $stands $waits $life"},
      {2, "CALL withdraw $lock quorumlock:leader:$lock / $token"},
      {4, "CALL writable /"},
      // Commands about data.
      {80, "SET $enrolment $usual"},
      {5, "GET $key"},
      {5, "MGET $key $key absent"},
      {5, "EXISTS $key $key"},
      {5, "DEL $key"},
      {5, "DEL $line"},
      {5, "TYPE $key"},
      {5, "PTTL $key"},
      {3, "PEXPIRE $key $ttl"},
      {1, "PEXPIRE $key x"},
      {2, "PEXPIRE $key $ttl GT"},
      {1, "PEXPIRE $key $ttl gt"},
      {1, "PEXPIRE $key $ttl nonsense"},
      {1, "PEXPIREAT $key $ms+30000"},
      {2, "HSET $key field $token"},
      {2, "HSET $key field"},
      {2, "HGET $key field"},
      {2, "HMGET $key field other"},
      {2, "GETRANGE $key 1 -2"},
      {2, "GETRANGE $key x 2"},
      {4, "INCR $counter"},
      {2, "INCR $key"},
      {3, "SET $counter $us"},
      {1, "SET $counter 9223372036854775807"},
      {1, "SET $counter 9007199254740990"},
      {1, "SET $counter nonsense"},
      {1, "SET $counter 5.5"},
      {1, "SET $counter 0x10"},
      {5, "SET $lock $token"},
      {9, "SET $lock $token NX PX $ttl"},
      {5, "SET $lock $token NX GET PX $ttl"},
      {1, "SET $lock $token nx"},
      {1, "SET $lock $token PX"},
      {1, "SET $lock $token nonsense"},
      {1, "SET $lock $token PX x"},
      {1, "SET $lock $token PX 1e3"},
      {1, "SET $lock $token PX 010"},
      {2, "SET $permit $token PX $ttl"},
      {1, "HSET $permit field $token"},
      {5, "DEL $permit"},
      {2, "DEL $sem"},
      {2, "ZADD quorumlock:queue:$lock $ticket $waiter"},
      {4, "ZADD quorumlock:queue:$lock GT CH $ticket $waiter"},
      {1, "ZADD quorumlock:queue:$lock GT CH x $waiter"},
      {2, "HSET quorumlock:granted:$lock $waiter $token"},
      {2, "HDEL quorumlock:granted:$lock $waiter"},
      {1, "STRLEN $key"},
      {1, "ZRANGEBYSCORE $line -inf ($ms LIMIT 0 2"},
      {1, "ZREMRANGEBYRANK quorumlock:readers:$lock 0 -1"},
      {1, "ZADD $lock x $token"},
      {1, "ZADD $lock 1"},
      {2, "ZRANGE $line -2 -1"},
      {2, "ZRANGE $line 0 -1 WITHSCORES"},
      {2, "ZRANGE $lock 1 1 WITHSCORES"},
      {1, "ZRANGE $lock x 1"},
      {2, "ZSCORE $line $waiter"},
      {2, "ZREM $line $waiter"},
      {3, "ZREMRANGEBYSCORE $lock -inf ($ms"},
      {1, "ZREMRANGEBYSCORE $lock 0 x"},
      {2, "PUBLISH channel message"},
      {1, "FLUSHALL"},
      // Commands about the server, and what is no command.
      {2, "PING"},
      {1, "PING text"},
      {2, "SELECT 0"},
      {1, "select 0"},
      {1, "SELECT 99"},
      {1, "SELECT x"},
      {2, "SCRIPT LOAD $source"},
      {3, "SCRIPT EXISTS $sha $none"},
      {2, "EVALSHA $sha 0 absent token"},
      {1, "SCRIPT FLUSH"},
      {1, "EVALSHA $none 0 a"},
      {1, "EVALSHA $none 5 a"},
      {1, "EVALSHA $none -1 a"},
      {1, "EVALSHA $none x a"},
      {1, "EVALSHA short 0"},
      {1, "EVAL $source x"},
      {1, "EVAL $source 9 a"},
      {1, "CLIENT KILL ID 987654321"},
      {1, "CLIENT KILL ID 0"},
      {1, "CLIENT KILL ID x"},
      {1, "CLIENT KILL"},
      {1, "CLIENT SETNAME quorumlock:0123456789abcdef"},
      {1, "CLIENT SETNAME $two"},
      {1, "CLIENT NOSUCH"},
      {1, "CLIENT"},
      {1, "CONFIG GET no-appendfsync-on-rewrite"},
      {1, "SCAN 0 MATCH absent* COUNT 1000"},
      {1, "SCAN 0 MATCH"},
      {1, "SCAN 0 COUNT 0"},
      {1, "SCAN x"},
      {1, "AUTH wrong"},
      {1, "AUTH default wrong"},
      {1, "AUTH somebody wrong"},
      {1, "AUTH too many words"},
      {1, "NOSUCH command $long more"},
      {1, "NOSUCH"},
      {1, "GET"},
      {1, "TIME"},
  };
}

std::vector<std::string_view> states_of_a_lock() {
  return {
      "SET $enrolment another",
      "SET $enrolment $usual",
      "SET $one token-1 PX 30000",
      "SET $one token-1",
      "SET $one token-2 PX 30000 ; SET quorumlock:replanted:$one token-1 PX 30000",
      "SET quorumlock:released:$one:token-1 1 PX 30000 ; SET quorumlock:fence:$one 1000",
      "HSET $one field value",
      "SET $one quorumlock:readers PX 30000 ; ZADD quorumlock:readers:$one $far token-1 $ms+3000 "
      "token-2 ; PEXPIRE quorumlock:readers:$one 30000 ; SET $two token-1 PX 5000",
      "SET $one quorumlock:readers PX 30000 ; ZADD quorumlock:readers:$one $far token-1 ; SET $two "
      "quorumlock:readers PX 9000 ; ZADD quorumlock:readers:$two $far token-1",
      "SET $one quorumlock:readers PX 30000 ; ZADD quorumlock:readers:$one $ms-1 token-1 $ms "
      "token-2",
      "SET $one quorumlock:readers PX 30000 ; ZADD quorumlock:readers:$one $ms-1 token-2",
      "SET $one quorumlock:readers PX 30000",
      "ZADD quorumlock:readers:$one $far token-1",
      "ZADD $one $far token-1",
      "SET $one token-1 PX 30000 ; HSET quorumlock:leader:$one token token-1 version 3 fence 7 "
      "value "
      "text",
      "SET $one token-1 PX 30000 ; SET quorumlock:leader:$one text ; HSET quorumlock:fence:$one a "
      "b",
      "SET $sem 3 ; SET quorumlock:permit:$job:1 token-1 PX 30000 ; SET quorumlock:permit:$job:2 "
      "token-2 PX 900 ; HSET quorumlock:permit:$job:3 a b ; SET quorumlock:fence:$sem 9",
      "SET $sem 2 ; SET quorumlock:permit:$job:2 token-1",
      "SET $candidate run-1:abc@#f.0s.e;1 ; SET $repairer another ; SET $members old",
  };
}

std::vector<std::string_view> states_of_a_line() {
  return {
      "",
      "ZADD quorumlock:queue:$one 5 $writer ; ZADD quorumlock:waiting:$one $far $writer",
      "ZADD quorumlock:queue:$one 5 w0123456789abcdef.22 ; "
      "ZADD quorumlock:waiting:$one $far w0123456789abcdef.22 ; "
      "HSET quorumlock:granted:$one w0123456789abcdef.22 token-1",
      "ZADD quorumlock:queue:$one 4 wfedcba9876543210.1 5 r0123456789abcdef.3 ; "
      "ZADD quorumlock:waiting:$one $far wfedcba9876543210.1 $far r0123456789abcdef.3 ; "
      "ZADD quorumlock:queue:$two 3 r0123456789abcdef.3 5 wfedcba9876543210.1 ; "
      "ZADD quorumlock:waiting:$two $far wfedcba9876543210.1 $far r0123456789abcdef.3",
      "ZADD quorumlock:queue:$one 1 wfedcba9876543210.333 2 w0123456789abcdef.1 ; "
      "ZADD quorumlock:waiting:$one $ms-1 wfedcba9876543210.333",
      "ZADD quorumlock:queue:$sem 1 w0123456789abcdef.1 2 wfedcba9876543210.1 ; "
      "ZADD quorumlock:waiting:$sem $far w0123456789abcdef.1 $far wfedcba9876543210.1",
  };
}

bool is_valkey_9_1(std::string_view info) {
  constexpr std::string_view mark = "valkey_version:";
  const std::size_t version = info.find(mark);
  if (version == info.npos) return false;
  const auto numbers = split(info.substr(version + mark.size(), 8), ".");
  const auto number = [&](std::size_t i) { return std::stoi(std::string(numbers.at(i))); };
  return std::pair(number(0), number(1)) >= std::pair(9, 1);
}

bool is_of_connection(const Words& words) {
  const bool is_client = words.size() > 2 && words[0] == "CLIENT";
  const std::string& name = words[is_client ? 1 : 0];
  return name == "SELECT" || name == "select" || (is_client && name == "SETNAME");
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; (at = text.find(separator)) != text.npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

Words Draw::alternative(const std::string& name) {
  if (name == "two") return {"{odd} \0 name"s};
  if (name == "job") return {"{odd} \0 jobs"s};
  if (name == "long") return {std::string(2000, 'x')};
  if (name == "none") return {std::string(40, 'f')};
  if (name == "short") return {std::to_string(random.between(1, 30))};
  if (name == "sha") return {std::string(redis::release_script.sha1)};
  if (name == "source") {
    const std::size_t which = usual ? 0 : random.index(std::size(redis::all_scripts));
    return {std::string(redis::all_scripts[which]->source)};
  }
  if (name == "lock" && !lock.empty()) return {lock};
  const std::vector<std::string_view> all = split(alternatives().at(name), " | ");
  return part(all[usual ? 0 : random.index(all.size())]);
}

/// Draws the words of this text.
Words Draw::part(std::string_view text) {
  Words all;
  for (std::string_view rest : split(text, " ")) {
    Words drawn = {""};
    while (!rest.empty() && rest != "''") {
      const std::size_t at = std::min(rest.find('$'), rest.size());
      drawn.back().append(rest.substr(0, at));
      rest.remove_prefix(at);
      if (rest.empty()) break;
      const auto ends = std::ranges::find_if(
          rest.substr(1), [](char c) { return std::islower(c) == 0 && c != '_'; });
      const std::string name(rest.begin() + 1, ends);
      rest.remove_prefix(name.size() + 1);
      if (name == "us" || name == "ms") {
        std::size_t digits = 0;
        const std::string more(rest.starts_with('+') || rest.starts_with('-') ? rest : "+0");
        const std::int64_t by = std::stoll(more, &digits);
        drawn.back() += std::to_string((name == "us" ? now_us_ : now_us_ / 1000) + by);
        rest.remove_prefix(std::min(digits, rest.size()));
        continue;
      }
      const bool is_kept = name == "lock" || name == "slot";
      Words found = is_kept && same_.contains(name) ? same_[name] : alternative(name);
      if (is_kept) same_[name] = found;
      drawn.back() += found.at(0);
      drawn.insert(drawn.end(), found.begin() + 1, found.end());
    }
    all.insert(all.end(), drawn.begin(), drawn.end());
  }
  return all;
}

Words Draw::words(std::string_view text, std::int64_t now_us) {
  now_us_ = now_us;
  same_.clear();
  return part(text);
}

Words Draw::command(std::string_view text, std::int64_t now_us) {
  Words all = words(text, now_us);
  if (all.at(0) != "CALL") return all;
  const redis::Script& script = *test::script_by(&redis::Script::name, all.at(1));
  const bool whole = usual || random.one_in(3);
  const auto end = std::ranges::find(all, "/");
  Words call = {whole ? "EVAL" : "EVALSHA", std::string(whole ? script.source : script.sha1),
                std::to_string(end - all.begin() - 2)};
  call.insert(call.end(), all.begin() + 2, end);
  call.insert(call.end(), end + 1, all.end());
  return call;
}

std::vector<Words> Draw::commands(std::string_view texts, std::int64_t now_us) {
  std::vector<Words> all;
  if (texts.empty()) return all;
  for (const std::string_view text : split(texts, " ; ")) all.push_back(command(text, now_us));
  return all;
}

}  // namespace quorumlock::sim::table
