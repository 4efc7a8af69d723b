#include "sale.hpp"

#include <algorithm>

#include "crowd.hpp"

namespace flash_sale {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : ",") + part;
  return result;
}

std::vector<std::string> arguments_of(const SaleSettings& settings, int process) {
  std::vector<std::string> arguments{"buyers",
                                     "--process",
                                     std::to_string(process),
                                     "--count",
                                     std::to_string(settings.buyers),
                                     "--stock",
                                     settings.stock.string(),
                                     "--think",
                                     std::to_string(settings.think.count()) + "ms",
                                     "--wait",
                                     std::to_string(settings.wait.count()) + "ms"};
  if (settings.locked()) arguments.emplace_back("--locked");
  return arguments;
}

std::string told(const Visit& visit) {
  const std::string who = "buyer " + std::to_string(visit.buyer.number) + " of process " +
                          std::to_string(visit.buyer.process);
  if (visit.failed) return who + " got nothing: " + visit.note;
  return "phone " + std::to_string(visit.phone) + " to " + who +
         (visit.note.empty() ? "" : " (" + visit.note + ")");
}

}  // namespace

Sale run_sale(const SaleSettings& settings, const Interruption& interruption, Progress& progress,
              const std::function<void(int)>& on_sold) {
  const Stock stock(settings.stock);
  stock.write({.phones = settings.phones, .sold = {}});

  Crowd crowd(interruption);
  for (int process = 1; process <= settings.processes; ++process) {
    crowd.admit(arguments_of(settings, process), joined(settings.nodes));
  }
  crowd.open_doors();
  progress.start();
  const auto opened = quorumlock::Clock::now();

  Sale sale;
  int receipts = 0;
  while (const std::optional<std::string> line = crowd.next_line()) {
    std::optional<Visit> visit = parse_visit(*line);
    if (!visit) continue;
    // Without the lock all buyers get a phone at once: a line for each would show nothing.
    if (visit->failed || (visit->phone != 0 && settings.locked())) progress.event(told(*visit));
    if (visit->phone != 0) on_sold(++receipts);
    sale.visits.push_back(std::move(*visit));
    const int served = static_cast<int>(sale.visits.size());
    progress.status(served, settings.all_buyers(),
                    std::to_string(served) + " of " + std::to_string(settings.all_buyers()) +
                        " buyers served, " + counted(receipts, "phone") + " sold");
  }
  progress.clear();
  sale.took = quorumlock::Clock::now() - opened;
  sale.crashed = crowd.failed();
  sale.ledger = stock.read().sold;
  std::stable_sort(sale.visits.begin(), sale.visits.end(),
                   [](const Visit& a, const Visit& b) { return a.entered < b.entered; });
  return sale;
}

}  // namespace flash_sale
