#pragma once

#include <chrono>
#include <filesystem>

namespace flash_sale {

struct BuyersSettings {
  int process = 1;
  int buyers = 25;
  std::filesystem::path stock;
  std::chrono::milliseconds think{};
  std::chrono::milliseconds wait{};  ///< each buyer's patience for the lock
  bool locked = true;
};

/// Runs one process of the sale: a coordinator, and a thread for each buyer. The nodes are those of
/// QUORUMLOCK_NODES. Prints "ready" on stdout, waits for one byte on stdin, and then prints a line
/// for each buyer. The end of stdin means that the sale is off, and waiters give up. Returns the
/// exit code.
int run_buyers(const BuyersSettings& settings);

}  // namespace flash_sale
