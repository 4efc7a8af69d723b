#include "wait_report.hpp"

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <exception>
#include <mutex>
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

std::string name_of(const OwnerToken& owner) {
  return owner.label().empty() ? "a client without a label" : std::string(owner.label());
}

std::string names_of(const std::vector<OwnerToken>& tokens) {
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
  std::vector<OwnerToken> tokens;
  for (const PermitHolding& one : semaphore.permits) tokens.push_back(one.token);
  return tokens.empty() ? "" : "permits are held by " + names_of(tokens);
}

/// The task of a coroutine that nobody waits for.
struct Forgotten {
  struct promise_type {
    Forgotten get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

/// The holder, such as "held by web-3:812 for 12 s"; empty if none is known.
std::string holders_of(const Inspection& seen, bool permits) {
  if (permits) return permit_holders(seen.semaphore);
  const std::vector<OwnerToken> tokens =
      seen.holder.empty() ? seen.readers : std::vector{seen.holder};
  if (tokens.empty()) {
    // The value of another program is not shown, only described.
    const auto foreign = std::ranges::count_if(seen.nodes, [](const NodeHolding& node) {
      return node.vote == Vote::held && !node.detail.empty();
    });
    return foreign >= seen.quorum ? "held by another program" : "";
  }
  return "held by " + names_of(tokens) +
         (seen.held_for ? " for " + cli::roughly(*seen.held_for) : "");
}

/// That fewer than a quorum of nodes answer, with the trouble of one of them; empty if enough do.
std::string too_few_answers(const Inspection& seen) {
  const int answers = seen.count(Vote::held) + seen.count(Vote::absent);
  if (answers >= seen.quorum) return "";
  const auto silent = std::ranges::find_if(seen.nodes, [](const NodeHolding& node) {
    return node.vote != Vote::held && node.vote != Vote::absent && !node.detail.empty();
  });
  return "fewer than a quorum of nodes answer (" + std::to_string(answers) + " of " +
         std::to_string(seen.nodes.size()) + ")" +
         (silent == seen.nodes.end() ? "" : "; " + silent->node + ": " + silent->detail);
}

}  // namespace

/// A look at all resources. The answers come on the loops' threads.
struct WaitReport::Look {
  const std::vector<std::string> resources;
  const bool permits;
  const std::string what;
  std::mutex guard;  ///< of what follows
  std::vector<std::string> holders = {};
  std::size_t unanswered = 0;
  bool over = false;    ///< there is nothing to say any more
  bool silent = false;  ///< it has been said that too few nodes answer

  void on_answer(std::size_t resource, const Result<Inspection>& seen) {
    const std::lock_guard<std::mutex> lock(guard);
    if (seen) holders[resource] = holders_of(*seen, permits);
    const std::string trouble = seen && !over && !silent ? too_few_answers(*seen) : "";
    if (!trouble.empty()) {
      silent = true;
      log_sentence(EventLevel::warning, "message", "waiting for " + what + ": " + trouble);
    }
    if (--unanswered > 0 || over) return;
    std::string all;
    for (std::size_t i = 0; i < holders.size(); ++i) {
      if (holders[i].empty()) continue;
      all += (all.empty() ? "" : "; ") + (holders.size() > 1 ? resources[i] + " is " : "") +
             holders[i];
    }
    if (all.empty()) return;
    over = true;
    log_sentence(EventLevel::info, "message", "waiting for " + what + ": " + all);
  }
};

WaitReport::WaitReport(Coordinator& coordinator, std::vector<std::string> resources, bool permits,
                       std::string what)
    : coordinator_(coordinator),
      look_(new Look{std::move(resources), permits, std::move(what), {}}),
      ask_at_(Clock::now() + ask_after) {}

int WaitReport::advance() {
  const Clock::time_point now = Clock::now();
  bool ask = false;
  {
    const std::lock_guard<std::mutex> lock(look_->guard);
    if (look_->over) return -1;
    if (now >= ask_at_) {
      ask_at_ = now + ask_after;
      ask = look_->unanswered == 0;
    }
    if (ask) {
      look_->unanswered = look_->resources.size();
      look_->holders.assign(look_->unanswered, "");
    }
  }
  for (std::size_t i = 0; ask && i < look_->resources.size(); ++i) {
    [](Coordinator& coordinator, std::shared_ptr<Look> look, std::size_t resource) -> Forgotten {
      look->on_answer(resource, co_await coordinator.co_inspect(look->resources[resource]));
    }(coordinator_, look_, i);
  }
  return static_cast<int>(std::chrono::ceil<milliseconds>(ask_at_ - now).count());
}

void WaitReport::end() {
  const std::lock_guard<std::mutex> lock(look_->guard);
  look_->over = true;
}

}  // namespace quorumlock::cli
