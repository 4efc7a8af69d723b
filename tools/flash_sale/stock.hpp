#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <vector>

namespace flash_sale {

/// A buyer: the n-th of a process. Both count from 1.
struct Buyer {
  int process = 0;
  int number = 0;
  bool operator==(const Buyer&) const = default;
};

/// What the shop's file says.
struct Shelf {
  int phones = 0;           ///< that were there at first
  std::vector<Buyer> sold;  ///< to whom, in this order: phone 1 to the first
};

/// The shop's stock, in a plain file. Nothing in here protects it: whoever sells must hold the
/// lock, and this is what the sale is about.
class Stock {
 public:
  explicit Stock(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] Shelf read() const;
  void write(const Shelf& shelf) const;

  /// Sells the next phone to the buyer and gives its number; 0 where none is left. Reads, thinks,
  /// writes. Throws instead of writing once `ending` is requested to stop: whoever holds a lease
  /// has to leave before it ends.
  int sell(Buyer buyer, std::chrono::milliseconds think, const std::stop_token& ending) const;

 private:
  std::filesystem::path file_;
};

}  // namespace flash_sale
