#include "summary.hpp"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>

namespace flash_sale {
namespace {

/// Returns the visits that entered the shop, one after the other.
std::vector<const Visit*> entered(const Sale& sale) {
  std::vector<const Visit*> result;
  for (const Visit& visit : sale.visits) {
    if (!visit.failed) result.push_back(&visit);
  }
  return result;
}

int receipts(const Sale& sale) {
  return static_cast<int>(std::count_if(sale.visits.begin(), sale.visits.end(),
                                        [](const Visit& visit) { return visit.phone != 0; }));
}

/// Maps each phone to how often it was sold.
std::map<int, int> times_sold(const Sale& sale) {
  std::map<int, int> times;
  for (const Visit& visit : sale.visits) {
    if (visit.phone != 0) ++times[visit.phone];
  }
  return times;
}

std::ostream& row(std::ostream& out, const std::string& name) {
  return out << "  " << std::left << std::setw(14) << name << std::right;
}

void print_buyers(std::ostream& out, const Sale& sale) {
  out << "  phone  buyer  process      waited  votes\n";
  std::vector<const Visit*> bought;
  for (const Visit& visit : sale.visits) {
    if (visit.phone != 0) bought.push_back(&visit);
  }
  std::stable_sort(bought.begin(), bought.end(),
                   [](const Visit* a, const Visit* b) { return a->phone < b->phone; });
  for (const Visit* visit : bought) {
    out << std::setw(7) << visit->phone << std::setw(7) << visit->buyer.number << std::setw(9)
        << visit->buyer.process << std::setw(12) << to_text(visit->waited) << "  " << visit->note
        << '\n';
  }
}

void print_hand_overs(std::ostream& out, const Sale& sale) {
  const std::vector<const Visit*> visits = entered(sale);
  std::vector<Duration> gaps;
  int between_processes = 0;
  for (std::size_t i = 1; i < visits.size(); ++i) {
    gaps.push_back(visits[i]->entered - visits[i - 1]->left);
    between_processes += visits[i]->buyer.process != visits[i - 1]->buyer.process;
  }
  const Figures figures(std::move(gaps));
  row(out, "hand-overs") << figures.count() << ", " << between_processes
                         << " of them to another process; from the end of a visit to the next: "
                         << figures.spread() << '\n';
}

void print_votes_lost(std::ostream& out, const Sale& sale, std::size_t nodes,
                      const std::optional<Outage>& outage) {
  std::string each;
  int all = 0;
  int asked = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    int lost = 0;
    for (const Visit& visit : sale.visits) {
      lost += visit.lost_vote(node);
      asked += node < visit.votes.size();
    }
    if (lost > 0) {
      each += (each.empty() ? "" : ", ") + std::to_string(lost) + " of node " +
              std::to_string(node + 1);
    }
    all += lost;
  }
  row(out, "votes lost") << all << " of " << asked;
  if (!each.empty()) out << ": " << each;
  if (outage) {
    out << " (killed after phone " << outage->after << ", back after phone " << outage->until
        << ')';
  }
  out << '\n';
}

}  // namespace

void print_table(std::ostream& out, const SaleSettings& settings, const Sale& sale,
                 const std::optional<Outage>& outage, const Figures& free_lock) {
  std::vector<Duration> waits;
  for (const Visit* visit : entered(sale)) waits.push_back(visit->waited);
  const int empty_handed = static_cast<int>(waits.size()) - receipts(sale);
  const Figures figures(std::move(waits));

  print_buyers(out, sale);
  out << '\n';
  row(out, "buyers") << settings.all_buyers() << " in " << settings.processes
                     << " processes: " << receipts(sale) << " bought a phone, " << empty_handed
                     << " left empty-handed, "
                     << settings.all_buyers() - static_cast<int>(figures.count())
                     << " got neither\n";
  print_hand_overs(out, sale);
  row(out, "waits") << figures.spread() << '\n';
  row(out, "acquiring") << figures.tail() << " of the " << figures.count() << " in the crowd; "
                        << free_lock.tail() << " of " << free_lock.count()
                        << " of the free lock after it\n";
  print_votes_lost(out, sale, settings.nodes.size(), outage);
  row(out, "took") << to_text(sale.took) << '\n';
}

std::vector<std::string> faults(const SaleSettings& settings, const Sale& sale,
                                const std::optional<Outage>& outage) {
  std::vector<std::string> result;
  const std::map<int, int> times = times_sold(sale);
  for (const auto& [phone, count] : times) {
    if (count > 1) {
      result.push_back("Phone " + std::to_string(phone) + " was sold " + std::to_string(count) +
                       " times.");
    }
  }
  const int expected = std::min(settings.phones, settings.all_buyers());
  if (std::ssize(times) != expected) {
    result.push_back(std::to_string(times.size()) + " of " + counted(expected, "phone") +
                     " found a buyer.");
  }
  const auto strangers =
      std::count_if(sale.visits.begin(), sale.visits.end(), [&](const Visit& visit) {
        return visit.phone > std::ssize(sale.ledger) ||
               (visit.phone > 0 &&
                sale.ledger[static_cast<std::size_t>(visit.phone - 1)] != visit.buyer);
      });
  if (strangers > 0) {
    result.push_back("The shop's file does not know " +
                     counted(static_cast<int>(strangers), "buyer") + " who bought a phone.");
  }
  const int served = static_cast<int>(entered(sale).size());
  if (served != settings.all_buyers()) {
    result.push_back(counted(settings.all_buyers() - served, "buyer") +
                     " got neither a phone nor the answer that there is none left.");
  }
  if (sale.crashed > 0) result.push_back(counted(sale.crashed, "process") + " of buyers failed.");

  const std::vector<const Visit*> visits = entered(sale);
  for (std::size_t i = 1; i < visits.size(); ++i) {
    if (visits[i]->entered < visits[i - 1]->left) {
      result.emplace_back("Two buyers held the lock at the same time.");
      break;
    }
  }
  if (outage) {
    // If no visit lost this vote the nodes' end came too late to matter, and showed nothing.
    for (const std::size_t node : outage->nodes) {
      if (std::none_of(visits.begin(), visits.end(),
                       [&](const Visit* visit) { return visit->lost_vote(node); })) {
        result.push_back("Nobody missed the vote of node " + std::to_string(node + 1) +
                         " while it was down.");
      }
    }
  }
  return result;
}

void print_overselling(std::ostream& out, const SaleSettings& settings, const Sale& sale) {
  const std::map<int, int> times = times_sold(sale);
  for (const auto& [phone, count] : times) {
    out << "  phone " << phone << " was sold " << counted(count, "time") << '\n';
  }
  row(out, "oversold") << settings.phones << " phones, " << receipts(sale)
                       << " receipts; the shop's file knows of " << sale.ledger.size() << '\n';
}

int sold_again(const Sale& sale) {
  return receipts(sale) - static_cast<int>(times_sold(sale).size());
}

}  // namespace flash_sale
