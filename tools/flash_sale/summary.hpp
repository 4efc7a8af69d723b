#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "sale.hpp"

namespace flash_sale {

/// The nodes that were killed, and when, counted in phones sold.
struct Outage {
  std::vector<std::size_t> nodes;
  int after = 0;
  int until = 0;
};

/// Prints the table of a sale under the lock.
void print_table(std::ostream& out, const SaleSettings& settings, const Sale& sale,
                 const std::optional<Outage>& outage, const Figures& free_lock);
/// Returns a sentence for each fault of a sale under the lock; none if all is well.
std::vector<std::string> faults(const SaleSettings& settings, const Sale& sale,
                                const std::optional<Outage>& outage);

/// Prints the result of the sale without the lock.
void print_overselling(std::ostream& out, const SaleSettings& settings, const Sale& sale);
/// Returns how many receipts are for a phone that was already sold.
int sold_again(const Sale& sale);

}  // namespace flash_sale
