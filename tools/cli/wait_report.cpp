#include "wait_report.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <quorumlock/inspection.hpp>

#include "log.hpp"
#include "output.hpp"

namespace quorumlock::cli {
namespace {

using std::chrono::milliseconds;

/// A shorter wait is nothing to speak of. If nobody is found to hold the lock, we look again.
constexpr milliseconds ask_after{1000};
constexpr std::size_t most_names = 5;

std::string name_of(const std::string& token) {
  const OwnerToken owner(token);
  return owner.label().empty() ? "a client without a label" : std::string(owner.label());
}

std::string names_of(const std::vector<std::string>& tokens) {
  std::string names;
  for (std::size_t i = 0; i < tokens.size() && i < most_names; ++i) {
    names += (i == 0 ? "" : ", ") + name_of(tokens[i]);
  }
  if (tokens.size() > most_names) {
    names += " and " + std::to_string(tokens.size() - most_names) + " more";
  }
  return names;
}

std::string permit_holders(const SemaphoreHolding& semaphore) {
  std::vector<std::string> tokens;
  for (const PermitHolding& one : semaphore.permits) tokens.push_back(one.token);
  return tokens.empty() ? "" : "permits are held by " + names_of(tokens);
}

}  // namespace

WaitReport::WaitReport(Coordinator& coordinator, std::vector<std::string> resources, bool permits,
                       std::string what)
    : coordinator_(coordinator),
      resources_(std::move(resources)),
      permits_(permits),
      what_(std::move(what)),
      ask_at_(Clock::now() + ask_after) {}

int WaitReport::advance() {
  if (said_) return -1;
  const Clock::time_point now = Clock::now();
  if (now >= ask_at_) {
    ask_at_ = now + ask_after;
    // Asking takes as long as the slowest node, and signals must not wait for that.
    using namespace std::chrono_literals;
    if (!asking_.valid() || asking_.wait_for(0s) == std::future_status::ready) {
      try {
        asking_ = std::async(std::launch::async, [this] { say(); });
      } catch (const std::system_error&) {  // there is no thread: the wait goes on without a word
      }
    }
  }
  return static_cast<int>(std::chrono::ceil<milliseconds>(ask_at_ - now).count());
}

void WaitReport::say() {
  std::string holders;
  for (const std::string& resource : resources_) {
    const std::string one = holders_of(resource);
    if (one.empty()) continue;
    holders +=
        (holders.empty() ? "" : "; ") + (resources_.size() > 1 ? resource + " is " : "") + one;
  }
  if (holders.empty() || over_) return;
  said_ = true;
  log_sentence(EventLevel::info, "message", "waiting for " + what_ + ": " + holders);
}

std::string WaitReport::holders_of(const std::string& resource) {
  const Result<Inspection> seen = coordinator_.inspect(resource);
  if (!seen) return {};
  if (permits_) return permit_holders(seen->semaphore);
  const std::vector<std::string> tokens =
      seen->holder.empty() ? seen->readers : std::vector{seen->holder};
  if (tokens.empty()) {
    // The value of another program is not shown, only described.
    const auto foreign = std::ranges::count_if(seen->nodes, [](const NodeHolding& node) {
      return node.vote == Vote::held && !node.detail.empty();
    });
    return foreign >= seen->quorum ? "held by another program" : "";
  }
  return "held by " + names_of(tokens) + (seen->held_for ? " for " + roughly(*seen->held_for) : "");
}

}  // namespace quorumlock::cli
