#include "serve/documents.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "headline.hpp"
#include "reports.hpp"
#include "status_table.hpp"

namespace quorumlock::cli {
namespace {

constexpr std::size_t most_leaders = 100;  ///< the most leaders of elections that are sent

std::string cut(const std::string& token) {
  const auto at = token.find('@');
  return token.substr(0, std::min<std::size_t>(8, at)) + "..." +
         (at == token.npos ? "" : token.substr(at));
}

bool matches(const HeldLock& lock, const std::string& filter) {
  return filter.empty() || lock.resource.find(filter) != std::string::npos ||
         lock.label.find(filter) != std::string::npos;
}

using Rows = std::vector<const HeldLock*>;

/// Sorts at least the first `count`. Locks that are equal stay in the order of their names.
void sort_rows(Rows& rows, LocksWindow::Order order) {
  using Order = LocksWindow::Order;
  const auto by = [&](auto value) {
    std::ranges::stable_sort(
        rows, [&](const HeldLock* one, const HeldLock* other) { return value(*one, *other); });
  };
  switch (order) {
    case Order::resource: return;  // they have this order already
    case Order::waiters:
      return by([](const auto& one, const auto& other) { return one.waiters > other.waiters; });
    case Order::held_for:
      return by([](const auto& one, const auto& other) { return one.held_for > other.held_for; });
    case Order::expires_in:
      return by([](const auto& one, const auto& other) {
        // A lock without an expiry comes last.
        return one.expires_in.has_value() &&
               (!other.expires_in || *one.expires_in < *other.expires_in);
      });
  }
}

}  // namespace

Json error_document(const Error& error) {
  Json document = error_json(Failure(error));
  document["error"].erase("exit_code");
  return document;
}

Json status_event(const Result<ClusterStatus>& status) {
  if (!status) return error_document(status.error());
  const std::vector<Finding> findings = findings_of(*status);
  return {{"verdict", verdict(*status)},
          {"headline", headline_of(*status, findings).document()},
          {"status", status_json(*status)},
          {"doctor", findings_json(findings)}};
}

Json locks_event(const Result<LockList>& list, const LocksWindow& window, Json ran_out) {
  if (!list) return error_document(list.error());
  Rows rows;
  for (const HeldLock& lock : list->locks) {
    if (matches(lock, window.filter)) rows.push_back(&lock);
  }
  sort_rows(rows, window.order);
  Json locks = Json::array();
  const std::size_t end = std::min(rows.size(), window.from + window.count);
  for (std::size_t i = window.from; i < end; ++i) locks.push_back(held_lock_json(*rows[i]));
  Json leaders = Json::array();
  std::size_t leading = 0;
  for (const HeldLock& lock : list->locks) {
    if (lock.leads && ++leading <= most_leaders) leaders.push_back(held_lock_json(lock));
  }
  return {{"held", list->locks.size()},   {"waiting", waiting_in(*list)},
          {"matching", rows.size()},      {"from", window.from},
          {"locks", std::move(locks)},    {"complete", list->complete},
          {"leading", leading},           {"leaders", std::move(leaders)},
          {"ran_out", std::move(ran_out)}};
}

Json lock_event(const std::string& resource, const Result<Inspection>& seen) {
  if (seen) return without_tokens(inspection_json(*seen));
  Json failed = error_document(seen.error());
  failed["resource"] = resource;
  return failed;
}

Json for_a_stream(Json lock) {
  constexpr std::size_t most_waiters = 100;
  const auto shorten = [](Json& of) {
    if (!of.is_object() || !of.contains("waiters")) return;
    const std::size_t in_line = of["waiters"].size();
    for (std::size_t i = in_line; i > most_waiters; --i) of["waiters"].erase(i - 1);
    of["in_line"] = in_line;
  };
  lock.erase("nodes");
  shorten(lock);
  if (lock.contains("semaphore")) shorten(lock["semaphore"]);
  return lock;
}

Json without_tokens(Json inspection) {
  const std::function<void(Json&)> walk = [&](Json& value) {
    if (!value.is_structured()) return;
    for (auto one = value.begin(); one != value.end(); ++one) {
      const bool is_token = value.is_object() && one->is_string() &&
                            (one.key() == "owner_token" || one.key() == "holder");
      const bool are_tokens = value.is_object() && one.key() == "readers" && one->is_array();
      if (is_token) *one = cut(*one);
      if (are_tokens) {
        for (Json& reader : *one) {
          if (reader.is_string()) reader = cut(reader);
        }
      }
      walk(*one);
    }
  };
  walk(inspection);
  return inspection;
}

}  // namespace quorumlock::cli
