#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sale.hpp"

namespace flash_sale {

/// Which nodes were killed, and when, counted in phones sold.
struct Outage {
  std::vector<std::size_t> nodes;
  int after = 0;
  int until = 0;
};

/// The table of a sale under the lock.
void print_table(std::ostream& out, const SaleSettings& settings, const Sale& sale,
                 const std::optional<Outage>& outage, const Figures& free_lock);
/// What went wrong in a sale under the lock, each in a sentence; none where all held.
std::vector<std::string> faults(const SaleSettings& settings, const Sale& sale,
                                const std::optional<Outage>& outage);

/// What came of the sale without the lock.
void print_overselling(std::ostream& out, const SaleSettings& settings, const Sale& sale);
/// How many buyers have a receipt for a phone that somebody else has, too; the first one not
/// counted.
int sold_again(const Sale& sale);

}  // namespace flash_sale
