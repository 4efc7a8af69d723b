// Moves money from one account to another: both are locked, or neither, even if others transfer in
// the opposite direction.
//
//     transfer DIRECTORY FROM TO AMOUNT
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <quorumlock/quorumlock.hpp>
#include <string>

using namespace std::chrono_literals;

namespace {

long long balance(const std::filesystem::path& account) {
  long long amount = 0;
  std::ifstream(account) >> amount;
  return amount;
}

void set_balance(const std::filesystem::path& account, long long amount) {
  std::ofstream(account) << amount << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: transfer DIRECTORY FROM TO AMOUNT\n";
    return 64;
  }
  const std::filesystem::path directory = argv[1];
  const std::string from = argv[2];
  const std::string to = argv[3];
  const long long amount = std::stoll(argv[4]);

  auto options = quorumlock::Options::from_env();
  if (!options) {
    std::cerr << options.error().what() << '\n';
    return 64;
  }
  auto coordinator = quorumlock::Coordinator::create(std::move(*options));
  if (!coordinator) {
    std::cerr << coordinator.error().what() << '\n';
    return 64;
  }
  // The order does not matter: the holder of one account never waits for the other.
  auto lease = coordinator->acquire_all({"account:" + from, "account:" + to}, {.wait = 30s});
  if (!lease) {
    std::cerr << lease.error().what() << '\n';
    return 75;
  }
  const long long left = balance(directory / from) - amount;
  if (left < 0) {
    std::cout << "not enough\n";
    return 1;
  }
  // A ledger that can compare numbers gets the fencing token too (docs/fencing.md): it is greater
  // than that of every earlier holder of either account.
  if (!lease->is_valid()) return 76;
  set_balance(directory / from, left);
  set_balance(directory / to, balance(directory / to) + amount);
  std::cout << "moved " << amount << " under fencing token " << lease->fencing_token() << '\n';
  return 0;
}
