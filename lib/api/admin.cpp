#include <quorumlock/admin.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "admin/lock_list.hpp"
#include "api/operations.hpp"
#include "loop/driver.hpp"
#include "loop/inquiry.hpp"
#include "redis/keys.hpp"

namespace quorumlock {
namespace {

using detail::Driver;
using detail::Inquiry;
using detail::Router;
using detail::Runtime;
using detail::Session;
using detail::wait_for;

class Forgetting final : public Inquiry {
 public:
  std::vector<std::string> resources;
  detail::Handler<Result<void>> handler;

  void start(Driver& driver) override {
    asked_ = driver.node_set();
    ask(driver);
  }
  void answered(Driver& driver, const Session::Answered& answer) override {
    pending_.remove(answer.node);
    if (answer.reply == nullptr) asked_.remove(answer.node);  // ask this node no more
    if (!pending_.empty()) return;
    if (next_ < resources.size() && !asked_.empty()) return ask(driver);
    driver.inquiries().end(*this);
    dismiss();
  }
  void dismiss() override {
    auto then = std::move(handler);
    delete this;
    then({});
  }

 private:
  void ask(Driver& driver) {
    constexpr std::size_t at_once =
        500;  // which keeps a server busy for a fraction of a millisecond
    std::vector<std::string> keys;
    while (next_ < resources.size() && keys.size() < at_once) {
      keys.push_back(std::string(redis::counter_prefix) + driver.cluster().options.key_prefix +
                     resources[next_++]);
    }
    std::vector<std::string_view> words{"DEL"};
    words.insert(words.end(), keys.begin(), keys.end());
    pending_ = asked_;
    for (const int node : asked_) driver.inquiries().ask(*this, node, 0, words);
  }

  core::NodeSet asked_, pending_;
  std::size_t next_ = 0;
};

}  // namespace

Result<Coordinator> create_enrolling(Options options) {
  options.loops = 1;
  Result<std::shared_ptr<Router>> router =
      Router::with_threads(std::move(options), detail::Cluster::Purpose::to_enrol);
  if (!router) return router.error();
  return detail::CoordinatorParts::with(std::move(*router));
}

void vouch_for_nodes(const Coordinator& coordinator) {
  const detail::SharedRouter& router = detail::CoordinatorParts::router(coordinator);
  if (router != nullptr) router->vouch();
}

void forget_counters(Coordinator& coordinator, std::vector<std::string> resources) {
  const Router* router = detail::CoordinatorParts::router(coordinator).get();
  if (router == nullptr || router->cannot_block("clean up")) return;
  std::map<Runtime*, std::vector<std::string>> each;
  for (std::string& resource : resources) {
    each[router->of(resource).get()].push_back(std::move(resource));
  }
  for (auto& entry : each) {
    (void)wait_for<Result<void>>([&](auto handler) {
      auto forgetting = std::make_unique<Forgetting>();
      forgetting->resources = std::move(entry.second);
      forgetting->handler = std::move(handler);
      entry.first->post(forgetting.release());
    });
  }
}

Result<LockList> list_locks(Coordinator& coordinator, const LocksQuery& query) {
  const Router* router = detail::CoordinatorParts::router(coordinator).get();
  if (router == nullptr) {
    return Error(Errc::closed, "could not list the locks: the coordinator is gone");
  }
  if (const auto error = router->cannot_block("list the locks")) return *error;
  LockList all;
  for (const std::shared_ptr<Runtime>& group : router->groups()) {
    Result<LockList> some = wait_for<Result<LockList>>([&](auto handler) {
      auto inquiry = std::make_unique<detail::LockInquiry>();
      inquiry->query = query;
      inquiry->handler = std::move(handler);
      group->post(inquiry.release());
    });
    if (!some) return some;
    std::ranges::move(some->locks, std::back_inserter(all.locks));
    std::ranges::move(some->outcome.votes, std::back_inserter(all.outcome.votes));
    all.outcome.quorum = some->outcome.quorum;
    all.complete = all.complete && some->complete;
  }
  std::ranges::stable_sort(all.locks, [](const HeldLock& one, const HeldLock& other) {
    return std::tie(one.resource, one.permit) < std::tie(other.resource, other.permit);
  });
  return all;
}

}  // namespace quorumlock
