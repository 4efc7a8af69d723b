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
  int buyers = 25;  ///< in each process
  int phones = 10;
  std::chrono::milliseconds think{300};
  std::chrono::milliseconds wait = std::chrono::minutes(3);
  std::filesystem::path stock;
  std::vector<std::string> nodes;  ///< none: without a lock

  [[nodiscard]] bool locked() const { return !nodes.empty(); }
  [[nodiscard]] int all_buyers() const { return processes * buyers; }
};

/// How a sale went.
struct Sale {
  std::vector<Visit> visits;  ///< by the time of entering the shop; those who never did come first
  std::vector<Buyer> ledger;  ///< who has a phone according to the shop's file
  int crashed = 0;            ///< processes that did not end as they should
  Duration took{};
};

/// Fills the shop, lets the buyers in, and tells of each phone that is sold: `on_sold` is given how
/// many receipts there are by then.
Sale run_sale(const SaleSettings& settings, const Interruption& interruption, Progress& progress,
              const std::function<void(int)>& on_sold);

}  // namespace flash_sale
