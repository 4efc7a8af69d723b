#include "chaos/checker.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace quorumlock::chaos {
namespace {

using namespace std::chrono_literals;

/// How long a busy machine may let a runnable thread wait.
constexpr Clock::duration first_turn = 500ms;
/// Shorter gaps do not excuse a violation: stop_margin allows for them.
constexpr Clock::duration worth_naming = 100ms;
/// The time after the last lease that a fault may have touched: renewals and messages may still
/// arrive.
constexpr Clock::duration aftermath = 1s;

std::string ms(Clock::duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

std::string who(int worker, std::uint64_t token) {
  return "worker " + std::to_string(worker + 1) + " (token " + std::to_string(token) + ")";
}

std::string believed(const Holding& holding) {
  return who(holding.worker, holding.token) + (holding.shared ? ", a reader," : "");
}

/// The stop of this worker during or just after which the lease ended, if there was one.
const FaultSpan* stop_across(const History& history, const Holding& holding) {
  const Clock::duration margin = std::max<Clock::duration>(100ms, history.ttl / 10);
  for (const FaultSpan& fault : history.faults) {
    if (!fault.stops_worker || fault.target != holding.worker) continue;
    const Time end = fault.end.value_or(history.end);
    if (fault.begin <= holding.until && end >= holding.until - margin) return &fault;
  }
  return nullptr;
}

}  // namespace

std::string_view name_of(Promise promise) {
  switch (promise) {
    case Promise::fence_at_store: return "the store accepts no stale write";
    case Promise::fence_of_locks: return "tokens grow with every holder";
    case Promise::exclusion: return "one holder at a time, or as many as may be";
    case Promise::told_in_time: return "a holder is notified before its lease ends";
    case Promise::no_orphans: return "no key is left over";
    case Promise::liveness: return "work goes on after healing";
  }
  return "";
}

std::vector<Violation> check_fence_at_store(const History& history) {
  std::vector<Violation> found;
  struct Seen {
    std::uint64_t greatest = 0;
    std::map<std::uint64_t, std::string> owners;
  };
  std::map<std::string, Seen> resources;
  for (const Write& write : history.writes) {
    if (!write.accepted) continue;
    Seen& seen = resources[write.resource];
    if (write.token < seen.greatest) {
      found.push_back({Promise::fence_at_store, write.resource, write.at,
                       "the store accepted a write of " + who(write.worker, write.token) +
                           " after one with the greater token " + std::to_string(seen.greatest)});
    }
    const auto [owner, is_new] = seen.owners.emplace(write.token, write.owner);
    if (!is_new && owner->second != write.owner) {
      found.push_back({Promise::fence_at_store, write.resource, write.at,
                       "two owners wrote with the same token: " + who(write.worker, write.token)});
    }
    seen.greatest = std::max(seen.greatest, write.token);
  }
  return found;
}

std::vector<Violation> check_fence_of_locks(const History& history) {
  std::vector<Violation> found;
  std::map<std::string, std::vector<const Holding*>> resources;
  for (const Holding& each : history.holdings) resources[each.resource].push_back(&each);
  for (auto& [resource, holdings] : resources) {
    std::set<std::uint64_t> tokens;
    std::ranges::sort(holdings, {}, [](const Holding* each) { return each->begin; });
    // Element i: the one of holdings 0 to i with the greatest token.
    std::vector<const Holding*> greatest;
    for (const Holding* each : holdings) {
      if (!tokens.insert(each->token).second) {
        found.push_back({Promise::fence_of_locks, resource, each->begin,
                         "the token of " + who(each->worker, each->token) +
                             " was given to another holder too"});
      }
      const bool more = greatest.empty() || greatest.back()->token < each->token;
      greatest.push_back(more ? each : greatest.back());
    }
    for (const Holding* each : holdings) {
      const auto later = std::ranges::upper_bound(
          holdings, each->asked, {}, [](const Holding* other) { return other->begin; });
      if (later == holdings.begin()) continue;
      const Holding* before = greatest[static_cast<std::size_t>(later - holdings.begin()) - 1];
      if (before->token <= each->token) continue;
      found.push_back({Promise::fence_of_locks, resource, each->begin,
                       who(each->worker, each->token) + " asked after " +
                           who(before->worker, before->token) +
                           " had been granted the lock, and has the smaller token"});
    }
  }
  return found;
}

std::vector<Span> excused(const History& history) {
  std::vector<Span> spans;
  for (const FaultSpan& fault : history.faults) {
    if (fault.assumption == Assumption::within) continue;
    spans.push_back({fault.begin, fault.end.value_or(history.end) + history.max_ttl + aftermath});
  }
  std::ranges::sort(spans, {}, &Span::begin);
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (merged.empty() || merged.back().end < span.begin) {
      merged.push_back(span);
    } else {
      merged.back().end = std::max(merged.back().end, span.end);
    }
  }
  return merged;
}

std::vector<Overlap> overlaps(const History& history) {
  std::map<std::string, std::vector<std::size_t>> resources;
  for (std::size_t i = 0; i < history.holdings.size(); ++i) {
    const Holding& each = history.holdings[i];
    if (each.begin < each.end()) resources[each.resource].push_back(i);
  }
  std::vector<Overlap> found;
  for (auto& [resource, indices] : resources) {
    std::ranges::sort(indices, {}, [&](std::size_t i) { return history.holdings[i].begin; });
    std::vector<std::size_t> going;
    for (const std::size_t i : indices) {
      const Holding& each = history.holdings[i];
      std::erase_if(going, [&](std::size_t j) { return history.holdings[j].end() <= each.begin; });
      std::vector<std::size_t> beside;
      std::ranges::copy_if(going, std::back_inserter(beside), [&](std::size_t j) {
        return !each.shared || !history.holdings[j].shared;
      });
      // The leases that last longest have the permits.
      std::ranges::stable_sort(beside, std::ranges::greater(),
                               [&](std::size_t j) { return history.holdings[j].end(); });
      for (std::size_t rank = static_cast<std::size_t>(each.permits) - 1; rank < beside.size();
           ++rank) {
        const std::size_t j = beside[rank];
        found.push_back({j, i, {each.begin, std::min(each.end(), history.holdings[j].end())}});
      }
      going.push_back(i);
    }
  }
  std::ranges::sort(found, {}, [](const Overlap& each) { return each.span.begin; });
  return found;
}

std::vector<Violation> check_exclusion(const History& history) {
  const std::vector<Span> free = excused(history);
  std::vector<Violation> found;
  for (const Overlap& overlap : overlaps(history)) {
    const auto excuses = [&](const Span& span) {
      return span.begin <= overlap.span.begin && overlap.span.begin <= span.end;
    };
    if (std::ranges::any_of(free, excuses)) continue;
    const Holding& first = history.holdings[overlap.first];
    const Holding& second = history.holdings[overlap.second];
    found.push_back({Promise::exclusion, first.resource, overlap.span.begin,
                     believed(first) + " and " + believed(second) + " both believed to hold " +
                         (second.permits == 1 ? "the lock"
                                              : "one of " + std::to_string(second.permits) +
                                                    " permits that others held already") +
                         ", for " + ms(overlap.span.end - overlap.span.begin)});
  }
  return found;
}

std::vector<Violation> check_told_in_time(const History& history) {
  std::vector<Violation> found;
  for (const Holding& each : history.holdings) {
    if (each.ending != Ending::over) continue;
    Time deadline = each.until;
    std::string why = "its lease ended";
    if (each.noticed < each.until) {
      deadline = each.noticed + first_turn;
      why = "its lease was lost";
    } else if (const FaultSpan* stop = stop_across(history, each)) {
      // On a busy machine the worker's first turn comes later than the end of its stop.
      const Time end = stop->end.value_or(history.end);
      const Time turn = std::max(end, stop->begin + each.longest_gap);
      deadline = std::max(each.until, turn + first_turn);
      why = "it went on after a stop";
    } else if (each.longest_gap >= worth_naming) {
      deadline = each.until + each.longest_gap;  // the machine gave the worker no turn
    }
    // A lease that had ended when it was granted could not be reported before that.
    deadline = std::max(deadline, each.begin + worth_naming);
    if (each.told && *each.told <= deadline) continue;
    found.push_back(
        {Promise::told_in_time, each.resource, each.until,
         who(each.worker, each.token) +
             (each.told ? " was notified " + ms(*each.told - deadline) + " too late that "
                        : std::string(" was never notified that ")) +
             why});
  }
  return found;
}

std::vector<Violation> check_orphans(const History& history) {
  std::vector<Violation> found;
  for (const Orphan& orphan : history.orphans) {
    found.push_back({Promise::no_orphans, orphan.key, history.end,
                     "node " + std::to_string(orphan.node + 1) + " still has a key for " +
                         orphan.key + ", for " + std::to_string(orphan.pttl) + " ms more"});
  }
  return found;
}

std::vector<Violation> check_liveness(const History& history) {
  std::vector<Violation> found;
  for (const std::string& complaint : history.complaints) {
    found.push_back({Promise::liveness, "", history.end, complaint});
  }
  if (!history.healed) return found;
  for (int worker = 0; worker < history.workers; ++worker) {
    const auto again = history.again.find(worker);
    const Time limit = *history.healed + history.healing_limit;
    if (again != history.again.end() && again->second <= limit) continue;
    found.push_back({Promise::liveness, "", limit,
                     "worker " + std::to_string(worker + 1) + " had no lock again within " +
                         ms(history.healing_limit) + " of the end of all faults"});
  }
  return found;
}

std::vector<Violation> check(const History& history) {
  std::vector<Violation> all;
  for (const auto part : {check_fence_at_store, check_fence_of_locks, check_exclusion,
                          check_told_in_time, check_orphans, check_liveness}) {
    std::ranges::move(part(history), std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &Violation::at);
  return all;
}

}  // namespace quorumlock::chaos
