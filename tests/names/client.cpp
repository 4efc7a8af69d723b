/// A client of the test of names: `names_client URL,URL,... [blocking]`. It answers each line of
/// its standard input with one line. `blocking`: the callback for the credentials of the node n4
/// never returns.

#include <uv.h>
#include <quorumlock/quorumlock.hpp>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <semaphore>
#include <sstream>
#include <string>

namespace {

using namespace quorumlock;
using namespace std::chrono_literals;

Options options_of(int count, char** words) {
  Options options;
  std::istringstream list(words[1]);
  for (std::string url; std::getline(list, url, ',');) options.nodes.emplace_back(url);
  if (count > 2) {
    options.credentials = [](std::string_view node, std::stop_token) -> Result<Credentials> {
      if (node.find("n4") == node.npos) return Credentials{"default", "", {}};
      std::binary_semaphore never(0);
      never.acquire();
      return Credentials{};
    };
  }
  return options;
}

std::string said(const Result<Lease>& lease) {
  return lease ? "held" : lease.error().what();
}

/// Locks on a loop of its own, and counts the threads of the process meanwhile.
std::string threads_when_attached(const Options& options) {
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::string answer;
  {
    Result<Coordinator> coordinator = Coordinator::attach(&loop, options);
    coordinator->async_acquire("attached", {.wait = 5s}, [&](Result<Lease> lease) {
      const auto tasks = std::filesystem::directory_iterator("/proc/self/task");
      answer = said(lease) + " by " + std::to_string(std::distance(begin(tasks), end(tasks)));
    });
    uv_run(&loop, UV_RUN_DEFAULT);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return answer;
}

}  // namespace

int main(int count, char** words) {
  const Options options = options_of(count, words);
  std::optional<Coordinator> coordinator;
  Lease kept;
  for (std::string word; std::cin >> word;) {
    if (word == "attach") {
      std::cout << threads_when_attached(options) << std::endl;
      continue;
    }
    if (!coordinator) coordinator = Coordinator::create(options).value();
    if (word == "keep") {
      Result<Lease> lease = coordinator->acquire("kept", {.ttl = 3s, .wait = 5s});
      std::cout << said(lease) << std::endl;
      if (lease) kept = *std::move(lease);
    } else if (word == "lock") {
      std::cout << said(coordinator->acquire("other", {.wait = 10s})) << std::endl;
    } else if (word == "try") {
      std::cout << said(coordinator->acquire("other")) << std::endl;
    } else if (word == "valid") {
      std::cout << kept.is_valid() << std::endl;
    } else if (word == "close") {
      const auto begin = Clock::now();
      coordinator->close();
      std::cout << (Clock::now() - begin) / 1ms << std::endl;
    }
  }
}
