#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "figures.hpp"
#include "interruption.hpp"
#include "progress.hpp"
#include "visit.hpp"

namespace flash_sale {

struct SaleSettings {
  int processes = 4;
  int buyers = 25;  ///< the number of buyers in each process
  int phones = 10;
  std::chrono::milliseconds think{300};
  std::chrono::milliseconds wait = std::chrono::minutes(3);
  std::filesystem::path stock;
  std::vector<std::string> nodes;  ///< empty for a sale without a lock

  [[nodiscard]] bool locked() const { return !nodes.empty(); }
  [[nodiscard]] int all_buyers() const { return processes * buyers; }
};

/// The course of a sale.
struct Sale {
  std::vector<Visit> visits;  ///< first the buyers that never entered the shop, then the others in
                              ///< order of entering
  std::vector<Buyer> ledger;  ///< the buyers that have a phone according to the shop's file
  int crashed = 0;            ///< processes that ended with an error
  Duration took{};
};

/// Fills the shop, lets the buyers in, and reports each phone that is sold by calling `on_sold`
/// with the number of receipts so far.
Sale run_sale(const SaleSettings& settings, const Interruption& interruption, Progress& progress,
              const std::function<void(int)>& on_sold);

}  // namespace flash_sale
