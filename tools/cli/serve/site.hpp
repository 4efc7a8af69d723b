#pragma once

#include <atomic>

#include <quorumlock/coordinator.hpp>

#include "serve/gate.hpp"
#include "serve/http.hpp"
#include "serve/observer.hpp"

namespace quorumlock::cli {

/// Answers the requests of `serve`. Thread-safe.
class Site {
 public:
  Site(const Coordinator& coordinator, Observer& observer, const Gate& gate)
      : coordinator_(coordinator), observer_(observer), gate_(gate) {}

  HttpReply answer(const HttpRequest& request);

 private:
  HttpReply ready();
  HttpReply metrics(const HttpRequest& request);
  HttpReply status();
  HttpReply doctor();
  HttpReply locks(const HttpRequest& request);
  HttpReply resource(const std::string& name);
  HttpReply events(const HttpRequest& request);

  const Coordinator& coordinator_;
  Observer& observer_;
  const Gate& gate_;
  std::atomic<int> streams_ = 0;
};

}  // namespace quorumlock::cli
