#include "uv/race.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace quorumlock::uv {
namespace {

/// RFC 8305, section 5: the recommended delay between two attempts.
constexpr Clock::duration longest_pause = std::chrono::milliseconds(250);
/// A name may have hundreds of addresses.
constexpr std::size_t most_named = 4;

}  // namespace

void Race::offer(std::span<const Address> more) {
  for (const Address& address : more) {
    if (std::ranges::find(runners_, address, &Runner::address) == runners_.end()) {
      runners_.push_back({address});
    }
  }
}

void Race::withdraw(const Address& address) {
  std::erase_if(runners_, [&](const Runner& runner) { return runner.address == address; });
}

std::vector<Address> Race::addresses() const {
  std::vector<Address> all;
  for (const Runner& runner : runners_) all.push_back(runner.address);
  return all;
}

void Race::complete(std::string why) {
  complete_ = true;
  why_ = std::move(why);
}

std::optional<Address> Race::next(Clock::time_point now) {
  if (has(State::begun) && now < last_begun_ + pause()) return std::nullopt;
  const auto waits = [](const Runner& runner) { return runner.state == State::waiting; };
  auto found = std::ranges::find_if(runners_, [&](const Runner& runner) {
    return waits(runner) && runner.address.family() != last_family_;
  });
  if (found == runners_.end()) found = std::ranges::find_if(runners_, waits);
  if (found == runners_.end()) return std::nullopt;
  found->state = State::begun;
  last_begun_ = now;
  last_family_ = found->address.family();
  return found->address;
}

void Race::failed(Clock::time_point now, const Address& address, std::string why) {
  const auto found = std::ranges::find(runners_, address, &Runner::address);
  if (found == runners_.end()) return;
  found->state = State::failed;
  found->why = std::move(why);
  last_failed_ = now;
}

bool Race::is_lost(Clock::time_point now) const {
  if (has(State::waiting) || has(State::begun)) return false;
  return complete_ || (!runners_.empty() && now >= last_failed_ + pause());
}

Clock::time_point Race::deadline() const {
  if (has(State::begun)) {
    return has(State::waiting) ? last_begun_ + pause() : Clock::time_point::max();
  }
  if (has(State::waiting)) return last_begun_;
  return runners_.empty() || complete_ ? Clock::time_point::max() : last_failed_ + pause();
}

bool Race::has(State state) const {
  return std::ranges::find(runners_, state, &Runner::state) != runners_.end();
}

Clock::duration Race::pause() const {
  return std::min(longest_pause, within_ / (static_cast<int>(runners_.size()) + 1));
}

std::string Race::why(bool named) const {
  if (runners_.empty()) return why_.empty() ? "the name has no address" : why_;
  if (!named) return runners_.front().why;
  std::string text;
  for (const Runner& runner : std::span(runners_).first(std::min(most_named, runners_.size()))) {
    text += (text.empty() ? "" : "; ") + runner.address.text() + ": " + runner.why;
  }
  if (runners_.size() > most_named) {
    text += "; and " + std::to_string(runners_.size() - most_named) + " more addresses";
  }
  return text + (why_.empty() ? "" : "; " + why_);
}

std::string Race::awaited() const {
  std::string text;
  std::size_t count = 0;
  for (const Runner& runner : runners_) {
    if (runner.state != State::begun || ++count > most_named) continue;
    text += (text.empty() ? "" : " or ") + runner.address.text();
  }
  if (count > most_named) text += " or " + std::to_string(count - most_named) + " more addresses";
  return text.empty() ? "the name servers, which are asked for its address" : text;
}

}  // namespace quorumlock::uv
