#pragma once

#include <cstdint>
#include <string>

#include "serve/documents.hpp"
#include "serve/observer.hpp"

namespace quorumlock::cli {

/// The server-sent events that one viewer gets: `status` (the nodes and the findings), `locks` (the
/// part of the list that it looks at), and `lock` (one resource, if it looks at one), each whenever
/// it has changed; and `beat` if there has been nothing for two seconds.
class Events {
 public:
  Events(Observer& observer, LocksWindow window, std::string resource);
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events();

  /// Returns false if too many other resources are watched.
  [[nodiscard]] bool possible() const { return watches_; }
  /// Waits for the next events. Empty at the end of the program.
  std::string next();

 private:
  struct News {
    Lookout<ClusterStatus>::SeenPtr status;
    Lookout<LockList>::SeenPtr locks;
    Lookout<Inspection>::SeenPtr resource;
  };
  News known() const;
  std::string event(const char* name, const Json& document, std::string& sent_before) const;

  Observer& observer_;
  const LocksWindow window_;
  const std::string resource_;
  bool watches_ = false;
  News sent_;
  std::string status_text_, locks_text_, resource_text_;
  bool greeted_ = false;
};

}  // namespace quorumlock::cli
