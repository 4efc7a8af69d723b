#pragma once

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <vector>

namespace flash_sale {

/// A buyer: its process and its number within that, both counted from 1.
struct Buyer {
  int process = 0;
  int number = 0;
  bool operator==(const Buyer&) const = default;
};

/// The content of the shop's file.
struct Shelf {
  int phones = 0;           ///< phones at the beginning
  std::vector<Buyer> sold;  ///< buyers in order: the first has phone 1
};

/// The shop's stock in a plain file. This class does not protect it: a seller must hold the lock,
/// as the sale shows.
class Stock {
 public:
  explicit Stock(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] Shelf read() const;
  void write(const Shelf& shelf) const;

  /// Sells the next phone to the buyer and returns its number; 0 if none is left. Reads, thinks,
  /// writes. Throws instead of writing once a stop of `ending` is requested: the holder of a lease
  /// has to stop before it ends.
  int sell(Buyer buyer, std::chrono::milliseconds think, const std::stop_token& ending) const;

 private:
  std::filesystem::path file_;
};

}  // namespace flash_sale
