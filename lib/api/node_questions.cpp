#include <quorumlock/detail/node_questions.hpp>

#include <memory>
#include <utility>

#include "api/operations.hpp"
#include "loop/driver.hpp"
#include "loop/inquiry.hpp"
#include "verbs/vote.hpp"

namespace quorumlock::detail {
namespace {

NodeReply kept(const redis::Reply& reply) {
  NodeReply copy;
  switch (reply.type) {
    case redis::Reply::Type::string: copy.type = NodeReply::Type::string; break;
    case redis::Reply::Type::status: copy.type = NodeReply::Type::status; break;
    case redis::Reply::Type::error: copy.type = NodeReply::Type::error; break;
    case redis::Reply::Type::integer: copy.type = NodeReply::Type::integer; break;
    case redis::Reply::Type::nil: copy.type = NodeReply::Type::nil; break;
    case redis::Reply::Type::array: copy.type = NodeReply::Type::array; break;
  }
  copy.integer = reply.integer;
  copy.text = reply.text;
  copy.elements.reserve(reply.elements.size());
  for (const redis::Reply& element : reply.elements) copy.elements.push_back(kept(element));
  return copy;
}

/// Asks nodes some questions at once, and hands over all answers together.
class Questions final : public Inquiry {
 public:
  std::vector<NodeQuestion> questions;
  /// Gets nothing if the coordinator is closed.
  Handler<std::optional<std::vector<NodeAnswer>>> handler;

  void start(Driver& driver) override {
    answers_.resize(questions.size());
    to_come_ = questions.size();
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const std::vector<std::string_view> words(questions[i].words.begin(),
                                                questions[i].words.end());
      driver.inquiries().ask(*this, questions[i].node, static_cast<std::uint16_t>(i), words);
    }
  }
  void answered(Driver& driver, const Session::Answered& answer) override {
    std::optional<NodeAnswer>& mine = answers_[answer.tag.round];
    if (mine) return;  // an answer after its timeout
    mine.emplace();
    if (answer.reply == nullptr) {
      mine->vote = answer.vote;
      mine->trouble = driver.trouble(answer.node);
    } else {
      mine->reply = kept(*answer.reply);
      mine->run = driver.link(answer.node).greeting().facts().run();
      if (answer.reply->type == redis::Reply::Type::error) {
        mine->vote = redis::vote_of_error(answer.reply->text);
        mine->trouble = driver.link(answer.node).greeting().said(*answer.reply);
      }
    }
    if (--to_come_ > 0) return;
    driver.inquiries().end(*this);
    std::vector<NodeAnswer> all;
    for (std::optional<NodeAnswer>& one : answers_) all.push_back(*std::move(one));
    finish(std::move(all));
  }
  void dismiss() override { finish(std::nullopt); }

 private:
  void finish(std::optional<std::vector<NodeAnswer>> all) {
    auto then = std::move(handler);
    delete this;
    then(std::move(all));
  }

  std::vector<std::optional<NodeAnswer>> answers_;
  std::size_t to_come_ = 0;
};

/// Calls a function on this group's loop and waits for its result. Nothing if the loop is gone.
template <class F>
auto on_loop(Runtime& runtime, F function) {
  using Told = std::optional<std::invoke_result_t<F, Driver&>>;
  struct Call final : Task {
    Call(F its_function, Handler<Told> its_handler)
        : function(std::move(its_function)), handler(std::move(its_handler)) {}
    void run(Driver& driver) override {
      const std::unique_ptr<Call> mine(this);
      handler(function(driver));
    }
    void dismiss() override {
      const std::unique_ptr<Call> mine(this);
      handler(std::nullopt);
    }
    F function;
    Handler<Told> handler;
  };
  return wait_for<Told>([&](Handler<Told> handler) {
    runtime.post(new Call(std::move(function), std::move(handler)));
  });
}

Result<Coordinator> created(Options options, Cluster::Purpose purpose) {
  Result<SharedRouter> router = Router::with_threads(std::move(options), purpose);
  if (!router) return router.error();
  return CoordinatorParts::with(*std::move(router));
}

/// The router, if a blocking call may be made on this thread.
Result<const Router*> router_for(const Coordinator& coordinator, const char* call) {
  const Router* const router = CoordinatorParts::router(coordinator).get();
  if (router == nullptr) return moved_from(call);
  if (const auto error = router->cannot_block(call)) return *error;
  return router;
}

ListedGroup listed_group(Driver& driver, bool anew) {
  if (anew) {
    driver.ask_facts();
    driver.look_again();
  }
  const Cluster& cluster = driver.cluster();
  ListedGroup group{cluster.group, driver.nodes().quorum(), cluster.options.key_prefix, {}};
  for (const auto& [number, url] : driver.nodes()) {
    const redis::Link& link = driver.link(number);
    const redis::Enrolment& enrolment = link.enrolment();
    ListedNode& node = group.nodes.emplace_back();
    node.number = number;
    node.node = url;
    node.name = enrolment.config().node;
    node.record = enrolment.candidacy().wanted(*enrolment.ruling().founded).to_string();
    const redis::Membership& founded = *enrolment.ruling().founded;
    node.founding = founded.founding;
    node.max_ttl = std::chrono::milliseconds(founded.to_terms.max_ttl_ms);
    node.fencing_memory = std::chrono::seconds(founded.to_terms.memory_s);
    const bool nameless = !link.greeting().facts().no_info.empty();
    if (enrolment.vote() == Vote::same_server || nameless) {
      node.unfit = driver.trouble(number);
    }
    node.is_enrolled = enrolment.is_enrolled();
    if (const auto& refused = link.greeting().writes_refused()) {
      node.refusal = (refused->in_script ? "" : "refuses writes: ") + refused->why;
      node.may_relent = refused->vote == Vote::refuses_writes;
    }
  }
  return group;
}

}  // namespace

Result<Coordinator> create_to_enrol(Options options) {
  return created(std::move(options), Cluster::Purpose::to_enrol);
}

Result<Coordinator> create_to_look(Options options) {
  return created(std::move(options), Cluster::Purpose::to_look);
}

Result<std::vector<ListedGroup>> listed_groups(const Coordinator& coordinator, const char* call,
                                               bool anew) {
  const Result<const Router*> router = router_for(coordinator, call);
  if (!router) return router.error();
  std::vector<ListedGroup> all;
  for (const std::shared_ptr<Runtime>& group : (*router)->groups()) {
    auto listed = on_loop(*group, [anew](Driver& driver) { return listed_group(driver, anew); });
    if (!listed) return (*router)->closed_error(call);
    all.push_back(*std::move(listed));
  }
  return all;
}

Result<std::vector<NodeAnswer>> ask_nodes(const Coordinator& coordinator, const char* call,
                                          std::size_t group, std::vector<NodeQuestion> questions) {
  const Result<const Router*> router = router_for(coordinator, call);
  if (!router) return router.error();
  if (questions.empty()) return std::vector<NodeAnswer>();
  auto answers = wait_for<std::optional<std::vector<NodeAnswer>>>([&](auto handler) {
    auto asked = std::make_unique<Questions>();
    asked->questions = std::move(questions);
    asked->handler = std::move(handler);
    (*router)->groups()[group]->post(asked.release());
  });
  if (!answers) return (*router)->closed_error(call);
  return *std::move(answers);
}

Result<std::string> listed_name(const NodeOptions& node) {
  const Result<redis::Endpoint> endpoint = redis::Endpoint::parse(node.url);
  if (!endpoint) return endpoint.error();
  return endpoint->member_name(node.name);
}

Result<void> vouch(const Coordinator& coordinator) {
  constexpr const char* call = "vouch for the nodes";
  const Result<const Router*> router = router_for(coordinator, call);
  if (!router) return router.error();
  const auto groups = (*router)->groups();
  // The nodes of other groups may hold locks that this group's nodes do not know of.
  for (const std::shared_ptr<Runtime>& group : groups) {
    if (groups.size() == 1) break;
    const auto ripe = on_loop(*group, [](Driver& driver) { return driver.ripe(); });
    if (!ripe) return (*router)->closed_error(call);
    if (!*ripe) {
      return Error(Errc::timed_out,
                   "cannot vouch for the nodes yet: leases may last that nodes of the group " +
                       group->cluster().group + " granted for other groups");
    }
  }
  for (const std::shared_ptr<Runtime>& group : groups) {
    const auto vouched = on_loop(*group, [](Driver& driver) {
      driver.vouch();
      return true;
    });
    if (!vouched) return (*router)->closed_error(call);
  }
  return {};
}

}  // namespace quorumlock::detail
