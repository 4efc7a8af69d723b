#include "serve/events.hpp"

#include <chrono>
#include <mutex>
#include <utility>

namespace quorumlock::cli {
namespace {

constexpr std::chrono::seconds beat_every{2};

}  // namespace

Events::Events(Observer& observer, LocksWindow window, std::string resource)
    : observer_(observer), window_(std::move(window)), resource_(std::move(resource)) {
  if (!resource_.empty() && !observer_.resources.watch(resource_)) return;
  if (!observer_.locks.watch(all_locks)) {
    if (!resource_.empty()) observer_.resources.unwatch(resource_);
    return;
  }
  watches_ = observer_.status.watch("");
}

Events::~Events() {
  if (!watches_) return;
  observer_.status.unwatch("");
  observer_.locks.unwatch(all_locks);
  if (!resource_.empty()) observer_.resources.unwatch(resource_);
}

Events::News Events::known() const {
  return {observer_.status.last(""), observer_.locks.last(all_locks),
          resource_.empty() ? nullptr : observer_.resources.last(resource_)};
}

std::string Events::event(const char* name, const Json& document, std::string& sent_before) const {
  std::string text = text_of(document);
  if (text == sent_before) return {};
  sent_before = std::move(text);
  return std::string("event: ") + name + "\ndata: " + sent_before + "\n\n";
}

std::string Events::next() {
  News news;
  {
    std::unique_lock<std::mutex> lock(observer_.board.guard);
    observer_.board.changed.wait_for(lock, beat_every, [&] {
      news = known();
      return observer_.board.ended || news.status != sent_.status || news.locks != sent_.locks ||
             news.resource != sent_.resource;
    });
    if (observer_.board.ended) return {};
  }
  // After a break the browser connects again in a second.
  std::string text = std::exchange(greeted_, true) ? "" : "retry: 1000\n\n";
  if (news.status != sent_.status) {
    text += event("status", status_event(news.status->value), status_text_);
  }
  if (news.locks != sent_.locks) {
    text += event("locks", locks_event(news.locks->value, window_, observer_.ran_out.document()),
                  locks_text_);
  }
  if (news.resource != sent_.resource) {
    text +=
        event("lock", for_a_stream(lock_event(resource_, news.resource->value)), resource_text_);
  }
  sent_ = std::move(news);
  return text.empty() ? "event: beat\ndata: {}\n\n" : text;
}

}  // namespace quorumlock::cli
