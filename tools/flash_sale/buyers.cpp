#include <quorumlock/quorumlock.hpp>

#include "buyers.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <latch>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "local/descriptor.hpp"
#include "stock.hpp"
#include "visit.hpp"

namespace flash_sale {
namespace {

using quorumlock::Clock;
using quorumlock::Coordinator;
using quorumlock::Lease;
using quorumlock::Result;
using quorumlock::local::Descriptor;

/// Looks, thinks and sells while no other buyer does: the purpose of the lock.
void buy_under_lock(Visit& visit, Coordinator& coordinator, const BuyersSettings& settings,
                    std::stop_token sale_off) {
  const Stock stock(settings.stock);
  const Clock::time_point asked = Clock::now();

  const Result<int> phone = coordinator.with_lock(
      "flash-sale", {.wait = settings.wait}, std::move(sale_off), [&](Lease& lease) {
        visit.entered = Clock::now();
        const int bought = stock.sell(visit.buyer, settings.think, lease.stop_token());
        visit.left = Clock::now();

        visit.waited = visit.entered - asked;
        const quorumlock::Outcome outcome = lease.outcome();
        visit.note = outcome.to_string();
        for (const quorumlock::NodeVote& node : outcome.votes) visit.votes.push_back(node.vote);
        return bought;
      });

  if (phone) {
    visit.phone = *phone;
  } else {
    visit.failed = true;
    visit.note = phone.error().what();
  }
}

/// Does the same without the lock, to show what the lock prevents.
void buy_without_lock(Visit& visit, const BuyersSettings& settings) {
  visit.entered = Clock::now();
  visit.phone = Stock(settings.stock).sell(visit.buyer, settings.think, {});
  visit.left = Clock::now();
}

/// Prints by one write of less than PIPE_BUF, which the kernel keeps whole among all processes.
void say(std::string line) {
  line += '\n';
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
}

/// Returns true when the parent opens the doors, or false when it ends our stdin to call the sale
/// off.
bool await_doors() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(STDIN_FILENO, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

/// Until `done` is readable, calls the sale off as soon as our stdin ends, which means that the
/// parent was interrupted or has died.
void watch_parent(const Descriptor& done, std::stop_source& sale_off) {
  // Polls for the hang-up only: a byte in the pipe belongs to another process.
  pollfd watched[] = {{STDIN_FILENO, 0, 0}, {done.get(), POLLIN, 0}};
  int ready = 0;
  while ((ready = ::poll(watched, 2, -1)) < 0 && errno == EINTR) {
  }
  // If we cannot wait for the parent's end, nobody buys.
  if (ready < 0 || watched[0].revents != 0) sale_off.request_stop();
}

}  // namespace

int run_buyers(const BuyersSettings& settings) {
  // Ctrl-C reaches us too, but the parent decides. So our waits are cancelled and our locks
  // released, and no lock stays on nodes that go on running.
  for (const int which : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(which, SIG_IGN);

  std::optional<Coordinator> coordinator;
  if (settings.locked) {
    Result<quorumlock::Options> options = quorumlock::Options::from_env();
    if (!options) {
      std::cerr << "flash-sale: " << options.error().what() << '\n';
      return 64;
    }
    Result<Coordinator> created = Coordinator::create(std::move(*options));
    if (!created) {
      std::cerr << "flash-sale: " << created.error().what() << '\n';
      return 64;
    }
    coordinator.emplace(std::move(*created));
  }

  std::latch doors(1);
  std::stop_source sale_off;
  std::vector<std::jthread> buyers;
  for (int number = 1; number <= settings.buyers; ++number) {
    buyers.emplace_back([&, number] {
      doors.wait();
      Visit visit;
      visit.buyer = {settings.process, number};
      try {
        if (coordinator) {
          buy_under_lock(visit, *coordinator, settings, sale_off.get_token());
        } else {
          buy_without_lock(visit, settings);
        }
      } catch (const std::exception& error) {
        visit.failed = true;
        visit.note = error.what();
      }
      say(to_line(visit));
    });
  }

  say("ready");
  if (!await_doors()) sale_off.request_stop();
  const Descriptor done(::eventfd(0, EFD_CLOEXEC));
  std::jthread watch([&] { watch_parent(done, sale_off); });
  doors.count_down();
  for (std::jthread& buyer : buyers) buyer.join();
  (void)::eventfd_write(done.get(), 1);
  return 0;
}

}  // namespace flash_sale
