#include "stock.hpp"

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace flash_sale {

Shelf Stock::read() const {
  std::ifstream in(file_);
  Shelf shelf;
  if (!(in >> shelf.phones)) throw std::runtime_error("cannot read " + file_.string());
  for (Buyer buyer; in >> buyer.process >> buyer.number;) shelf.sold.push_back(buyer);
  return shelf;
}

void Stock::write(const Shelf& shelf) const {
  // Each writer writes its own file and then renames it. So a reader never sees half a file, and
  // what fails without the lock is the selling, not the file system.
  const Buyer writer = shelf.sold.empty() ? Buyer{} : shelf.sold.back();
  std::filesystem::path draft = file_;
  draft += '.';
  draft += std::to_string(writer.process);
  draft += '-';
  draft += std::to_string(writer.number);
  std::ofstream out(draft, std::ios::trunc);
  out << shelf.phones << '\n';
  for (const Buyer& buyer : shelf.sold) out << buyer.process << ' ' << buyer.number << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + draft.string());
  std::filesystem::rename(draft, file_);
}

int Stock::sell(Buyer buyer, std::chrono::milliseconds think, const std::stop_token& ending) const {
  Shelf shelf = read();
  if (std::ssize(shelf.sold) >= shelf.phones) return 0;
  std::this_thread::sleep_for(think);  // the time of a payment, in which other buyers look too
  if (ending.stop_requested())
    throw std::runtime_error("the lease was ending: nothing was written");
  shelf.sold.push_back(buyer);
  write(shelf);
  return static_cast<int>(shelf.sold.size());
}

}  // namespace flash_sale
