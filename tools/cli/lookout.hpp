#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <quorumlock/result.hpp>

namespace quorumlock::cli {

/// All lookouts of a program share this board. Threads that wait for news wait here.
struct NewsBoard {
  std::mutex guard;
  std::condition_variable changed;
  bool ended = false;

  void end() {
    {
      const std::lock_guard<std::mutex> lock(guard);
      ended = true;
    }
    changed.notify_all();
  }
};

/// Asks the nodes one kind of question for all viewers together, so that their number does not
/// matter to the nodes. There is one question at a time, for one key (a resource, a pattern), and a
/// key is asked about only while somebody watches it: once a second, or less often if the answer
/// takes long, so that at most a quarter of the time is spent on asking.
template <class T>
class Lookout {
 public:
  using Ask = std::function<Result<T>(const std::string& key)>;
  struct Seen {
    Result<T> value;
    std::uint64_t number;  ///< grows with every answer
  };
  using SeenPtr = std::shared_ptr<const Seen>;

  /// Starts a thread that asks. `ask` has to return soon once the board has ended.
  Lookout(NewsBoard& board, std::size_t most_keys, Ask ask)
      : board_(board), most_keys_(most_keys), ask_(std::move(ask)), thread_([this] { run(); }) {}
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;
  /// Call it only once the board has ended.
  ~Lookout() { thread_.join(); }

  /// Begins to watch a key. Returns false if too many others are watched.
  bool watch(const std::string& key) {
    const std::lock_guard<std::mutex> lock(board_.guard);
    return begin(key) != nullptr;
  }
  /// Ends what watch() began.
  void unwatch(const std::string& key) {
    const std::lock_guard<std::mutex> lock(board_.guard);
    --entries_.at(key).watchers;
  }
  /// The last answer for a key that is watched; null before the first. Under the board's guard.
  [[nodiscard]] SeenPtr last(const std::string& key) const { return entries_.at(key).last; }

  /// Returns the last answer, or, if it is time to ask again, waits for the next one. Returns null
  /// if too many other keys are watched, if there is no answer for ten seconds, and at the end.
  SeenPtr fresh(const std::string& key) {
    std::unique_lock<std::mutex> lock(board_.guard);
    Entry* const entry = begin(key);
    if (entry == nullptr) return nullptr;
    const SeenPtr before = entry->last;
    const auto has_news = [&] {
      return board_.ended || entry->last != before ||
             (entry->last != nullptr && Clock::now() < entry->due);
    };
    const bool is_there = board_.changed.wait_for(lock, patience, has_news);
    --entry->watchers;
    return is_there && !board_.ended ? entry->last : nullptr;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds interval{1};
  static constexpr std::chrono::seconds patience{10};
  /// A key that nobody watches is remembered for this long, with its answer.
  static constexpr std::chrono::seconds memory{2};

  struct Entry {
    int watchers = 0;
    SeenPtr last;
    Clock::time_point due{};  ///< the nodes are not asked before this time
    Clock::time_point ended{};
  };

  Entry* begin(const std::string& key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) {
      forget_unwatched(Clock::now());
      if (entries_.size() >= most_keys_) return nullptr;
      found = entries_.try_emplace(key).first;
    }
    Entry& entry = found->second;
    // What was true a while ago would be shown as what is true now.
    const bool old = Clock::now() - entry.ended > memory;
    if (entry.watchers == 0 && &entry != asked_ && old) entry.last = nullptr;
    ++entry.watchers;
    board_.changed.notify_all();
    return &entry;
  }

  void forget_unwatched(Clock::time_point now) {
    std::erase_if(entries_, [&](const auto& one) {
      const Entry& entry = one.second;
      return entry.watchers == 0 && &entry != asked_ && now - entry.ended > memory;
    });
  }

  /// The watched key that is due first.
  typename std::map<std::string, Entry>::iterator first_due() {
    auto first = entries_.end();
    for (auto one = entries_.begin(); one != entries_.end(); ++one) {
      if (one->second.watchers == 0) continue;
      if (first == entries_.end() || one->second.due < first->second.due) first = one;
    }
    return first;
  }

  void run() {
    std::unique_lock<std::mutex> lock(board_.guard);
    while (!board_.ended) {
      const auto next = first_due();
      const auto began = Clock::now();
      if (next == entries_.end()) {
        board_.changed.wait(lock);
      } else if (next->second.due > began) {
        board_.changed.wait_until(lock, next->second.due);
      } else {
        look(lock, next->first, next->second, began);
      }
    }
  }

  void look(std::unique_lock<std::mutex>& lock, const std::string& key, Entry& entry,
            Clock::time_point began) {
    asked_ = &entry;
    lock.unlock();
    Result<T> value = ask_(key);
    lock.lock();
    asked_ = nullptr;
    entry.ended = Clock::now();
    entry.due = std::max(began + interval, entry.ended + 3 * (entry.ended - began));
    entry.last = std::make_shared<const Seen>(Seen{std::move(value), ++answers_});
    forget_unwatched(entry.ended);
    board_.changed.notify_all();
  }

  NewsBoard& board_;
  const std::size_t most_keys_;
  const Ask ask_;
  std::map<std::string, Entry> entries_;
  const Entry* asked_ = nullptr;  ///< the entry that the nodes are being asked about
  std::uint64_t answers_ = 0;
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace quorumlock::cli
