// What clients come to believe.
#include <algorithm>
#include <cmath>

#include "lock/config.hpp"
#include "sim/world/records.hpp"
#include "sim/world/referee.hpp"

namespace quorumlock::sim {

using namespace std::chrono_literals;
using redis::NodeNames;

namespace {

std::size_t count_of(const NodeNames& list, const std::set<std::string>& names) {
  return static_cast<std::size_t>(
      std::ranges::count_if(list, [&](const std::string& one) { return names.contains(one); }));
}

bool is_majority(const NodeNames& list, const std::set<std::string>& names) {
  return count_of(list, names) >= list.size() / 2 + 1;
}

bool accepts(const redis::Membership& its, const NodeNames& list) {
  return list == its.to || (its.phase == ListPhase::announced && list == its.from);
}

/// The longest ttl of a vote by this record that counts before the settle, and after it.
std::int64_t longest_ttl_ms(const redis::Membership& its) {
  if (its.phase == ListPhase::settled) return its.to_terms.max_ttl_ms;
  if (its.phase == ListPhase::announced) return its.from_terms.max_ttl_ms;
  return std::min(its.from_terms.max_ttl_ms, its.to_terms.max_ttl_ms);
}

}  // namespace

void Referee::believes(const Believed& one) {
  Votes& votes = votes_[one.token];
  votes.operation = one.operation;
  const std::string who = "operation " + std::to_string(one.operation);
  if (!one.renewed) votes.decided = one.fence;
  if (!one.renewed && !votes.over.empty()) {
    refuse(guard::own_token, who + " has the token of an attempt that has released it");
  }
  if (one.renewed ? one.now >= one.until_before : one.now >= one.until) {
    refuse(one.renewed ? guard::win_again_end : guard::decide_in_time,
           who + " is believed in after its end");
  }
  // Validity counts from before the round, and is less than the ttl by the drift and 2 ms.
  const double drift = core::Config().drift_factor;
  const auto least = static_cast<double>((one.until - one.start).count()) * (1 + drift);
  if (one.until > one.until_before && least > static_cast<double>((one.ttl - 2ms).count()) + 1000) {
    const bool drifts = least > static_cast<double>(one.ttl.count()) + 1000;
    const bool late = one.until - one.start > one.ttl;
    refuse(!drifts       ? guard::rounding
           : late        ? (one.renewed ? guard::win_again_start : guard::win_start)
           : one.renewed ? guard::renew_margin
                         : guard::margin,
           who + " is believed in until later than the ttl and the drift allow");
  }
  if (one.clock_stood || one.lists.empty()) return;
  // The nodes that have voted in this round.
  std::map<std::string, redis::SharedMembership> voted;
  std::set<std::string> all;
  bool of_old_list = false, too_long = false;
  const std::int64_t ttl_ms = std::chrono::floor<std::chrono::milliseconds>(one.ttl).count();
  bool other_number = false;
  std::set<std::string> ever;
  for (const auto& [node, vote] : votes.of) {
    std::string name = name_of(node.first);
    if (node.second != 0) name += '/' + std::to_string(node.second);
    ever.insert(name);
    const auto cast = std::ranges::find_if(vote.casts, [&](const Cast& each) {
      return each.renews == one.renewed && each.at >= one.began && each.ttl_ms >= ttl_ms;
    });
    if (cast == vote.casts.end()) continue;
    if (!one.renewed && one.fence != 0 && !vote.numbers.contains(one.fence)) {
      other_number = true;
      continue;
    }
    if (one.has_record && cast->members != nullptr) {
      const bool accepted = std::ranges::any_of(
          one.lists, [&cast](const NodeNames& list) { return accepts(*cast->members, list); });
      if (!accepted) {
        of_old_list = true;
        continue;
      }
      if (ttl_ms > longest_ttl_ms(*cast->members)) {
        too_long = true;
        continue;
      }
    }
    voted.emplace(name, one.has_record ? cast->members : nullptr);
    all.insert(std::move(name));
  }
  const NodeNames& own = one.lists.front();
  const auto wins = [&own](const std::set<std::string>& names) { return is_majority(own, names); };
  const bool enough = wins(all);
  for (bool less = true; less;) {
    less = false;
    for (auto it = voted.begin(); it != voted.end();) {
      const redis::SharedMembership& its = it->second;
      const bool asks = its != nullptr && its->phase != ListPhase::settled;
      if (asks && !is_majority(its->from, all)) {
        all.erase(it->first);
        it = voted.erase(it);
        less = true;
      } else {
        ++it;
      }
    }
  }
  const std::string has = who + " of client " + std::to_string(one.client + 1) +
                          " is believed in by the votes of " + std::to_string(all.size()) + " of " +
                          std::to_string(own.size()) + " nodes";
  if (wins(all)) {
    if (one.lists.size() > 1 && (one.lists.size() > 2 || !is_majority(one.lists[1], all))) {
      refuse(guard::win_moved, has + ", and has moved to others");
    }
    return;
  }
  if (enough) return refuse(guard::win_asked, has);
  if (of_old_list) return refuse(guard::vote_accepts, has);
  if (too_long) return refuse(guard::within_max_ttl, has);
  if (other_number) return refuse(guard::decide_number, has);
  if (!wins(ever)) return refuse(guard::win_own_list, has);
  refuse(one.renewed ? guard::win_again_votes : guard::win_votes, has);
}

/// Checks that a majority has voted since then with one and the same counter.
void Referee::extended(const std::string& token, TrueTime asked, const NodeNames& list) {
  std::map<std::int64_t, std::set<std::string>> by_counter;
  for (const auto& [node, vote] : votes_[token].of) {
    std::string name = name_of(node.first);
    if (node.second != 0) name += '/' + std::to_string(node.second);
    for (const auto& [at, counter] : vote.extensions) {
      if (at >= asked) by_counter[counter].insert(name);
    }
  }
  const auto wins = [&list](const auto& each) { return is_majority(list, each.second); };
  if (std::ranges::any_of(by_counter, wins)) return;
  refuse(guard::extend_succeeds, token + " is extended by votes with different counters");
}

}  // namespace quorumlock::sim
