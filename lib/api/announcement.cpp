#include "api/announcement.hpp"

#include <algorithm>
#include <utility>

#include "config/refusal.hpp"
#include "lock/quorum.hpp"
#include "loop/driver.hpp"
#include "loop/runtime.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"

namespace quorumlock::detail {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_value = 65536;
/// An announcement is repeated before its record on the nodes expires, also for nodes that have
/// forgotten it.
constexpr std::string_view record_life_ms = "60000";
constexpr core::Duration said_again_after = 20s;
constexpr core::Duration tried_again_after = 1s;

}  // namespace

Result<void> check_value(std::string_view value) {
  if (value.size() <= longest_value) return {};
  return refusal("the value has " + std::to_string(value.size()) + " bytes: it must have at most " +
                 std::to_string(longest_value));
}

void Announcement::begin(std::shared_ptr<Announcement> mine, std::shared_ptr<Runtime> runtime,
                         Lease lease) {
  mine->runtime_ = std::move(runtime);
  mine->lease_ = std::move(lease);
  mine->self_ = mine;
  mine->runtime_->post(mine.get());
}

Error Announcement::not_held(const char* what) const {
  return {Errc::not_held, std::string("cannot ") + what + " \"" + lease_.resource() +
                              "\": it is not led by this any more"};
}

void Announcement::start(Driver& driver) {
  key_ = driver.cluster().options.key_prefix + lease_.resource();
  announce(driver);
}

void Announcement::announce(Driver& driver) {
  if (++round_ == 0) ++round_;
  asked_ = nodes_ = driver.node_set();
  told_ = refused_ = core::NodeSet();
  open_ = true;
  const std::string record = std::string(redis::leader_prefix) + key_;
  const std::string token = lease_.owner_token();
  const std::string fence = std::to_string(lease_.fencing_token());
  const std::string version = std::to_string(version_);
  for (const int node : nodes_) {
    driver.inquiries().ask(*this, node, round_,
                           {"EVAL", redis::announce_script.source, "2", key_, record, token, fence,
                            version, value_, record_life_ms});
  }
  wake_in(driver, said_again_after);
}

void Announcement::wake_in(Driver& driver, core::Duration pause) {
  say_again_ = Clock::now() + pause;
  driver.inquiries().wake_at(*this, std::min(say_again_, lease_.valid_until()));
}

void Announcement::answered(Driver& driver, const Session::Answered& answer) {
  if (answer.tag.round != round_) return;
  asked_.remove(answer.node);
  const redis::Reply* reply = answer.reply;
  if (reply != nullptr && reply->type == redis::Reply::Type::integer) {
    (reply->integer == 1 ? told_ : refused_).add(answer.node);
  }
  if (open_) settle(driver);
}

void Announcement::settle(Driver& driver) {
  const int nodes = nodes_.size();
  switch (core::verdict(core::quorum_of(nodes), told_.size(), asked_.size())) {
    case core::Verdict::pending: return;
    case core::Verdict::won: open_ = false; return report({});
    case core::Verdict::lost: break;
  }
  if (!asked_.empty()) return;
  open_ = false;
  wake_in(driver, tried_again_after);
  const bool heard = told_.size() + refused_.size() >= core::quorum_of(nodes);
  const Errc why = heard || !lease_.is_valid() ? Errc::not_held : Errc::no_quorum;
  report(Error(why, "could not proclaim who leads \"" + lease_.resource() + "\": " +
                        make_error_code(why).message() + " (" + std::to_string(told_.size()) +
                        " of " + std::to_string(nodes) + " nodes know, a quorum is " +
                        std::to_string(core::quorum_of(nodes)) + ")"));
}

/// Reports the end of a round. A campaign is won even if its first announcement failed: leading
/// does not depend on others knowing it.
void Announcement::report(Result<void> result) {
  if (auto led = std::move(on_led_)) led(Leadership(shared_from_this()));
  if (auto then = std::move(on_proclaimed_)) then(std::move(result));
}

void Announcement::proclaim(Driver& driver, std::string value,
                            detail::Handler<Result<void>> handler) {
  std::optional<Error> refused;
  if (self_ == nullptr || !lease_.is_valid()) {
    refused = not_held("proclaim");
  } else if (on_proclaimed_) {
    refused = refusal("cannot proclaim \"" + lease_.resource() +
                      "\": another proclaim of it is still under way: wait for its end");
  }
  if (refused) {
    return driver.later([then = std::move(handler), error = *refused]() mutable { then(error); });
  }
  value_ = std::move(value);
  ++version_;
  on_proclaimed_ = std::move(handler);
  announce(driver);
}

void Announcement::due(Driver& driver) {
  if (!lease_.is_valid()) return withdraw(driver);
  if (Clock::now() >= say_again_) return announce(driver);
  driver.inquiries().wake_at(*this, std::min(say_again_, lease_.valid_until()));
}

void Announcement::resign(Driver& driver, detail::Handler<Result<void>> handler) {
  lease_.async_release(std::move(handler));
  // Withdraws after the release, which is sent before this task runs.
  if (self_ != nullptr) {
    driver.later([self = self_, &driver] { self->withdraw(driver); });
  }
}

/// The leadership has ended. Removes the announcement from the nodes without waiting for their
/// answers.
void Announcement::withdraw(Driver& driver) {
  const std::shared_ptr<Announcement> self = std::move(self_);
  if (self == nullptr) return;
  const std::string record = std::string(redis::leader_prefix) + key_;
  const std::string token = lease_.owner_token();
  for (const int node : driver.node_set()) {
    driver.inquiries().ask(*this, node, 0,
                           {"EVAL", redis::withdraw_script.source, "2", key_, record, token});
  }
  driver.inquiries().end(*this);
  report(not_held("proclaim"));
}

void Announcement::dismiss() {
  const std::shared_ptr<Announcement> self = std::move(self_);
  report(runtime_->closed_error("proclaim"));
}

}  // namespace quorumlock::detail
