#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <quorumlock/admin.hpp>
#include <quorumlock/detail/node_questions.hpp>

#include "members/enrolment_record.hpp"
#include "verbs/keys.hpp"
#include "verbs/scripts.hpp"
#include "wire/client_name.hpp"

namespace quorumlock {
namespace {

using detail::ListedGroup;
using detail::ListedNode;
using detail::NodeAnswer;
using detail::NodeQuestion;
using detail::NodeReply;

constexpr const char* enrolling = "enroll the nodes";
constexpr int most_looks = 3;  // after an enrolment; the second finds it

/// Enrols all nodes of a group without a wait, on the operator's word that no client can hold a
/// lock yet.
///
/// First look() asks all nodes: unless forced, each must answer and have neither an enrolment nor
/// any key of ours. A candidate is allowed, since waiting clients leave one. No client may be
/// connected whose name says that it has seen these nodes enrolled: it may still hold locks.
class EnrolNew {
 public:
  EnrolNew(const Coordinator& coordinator, std::size_t group, bool force)
      : coordinator_(coordinator), group_(group), force_(force) {}

  Result<void> look();
  /// Enrols the nodes that look() has found nothing against.
  Result<void> enrol();
  /// What speaks against nodes, as an error.
  [[nodiscard]] Result<void> verdict() const;

 private:
  struct Node {
    ListedNode listed;
    std::string record{};
    std::string cursor = "0";
    std::string objection{};  ///< why the node must not be enrolled, or is not
    bool may_pass = false;    ///< it has not answered, or refuses writes for now
    bool done = false;        ///< it is asked no more
  };

  Result<void> list(bool anew);
  template <class Words, class Take>
  Result<void> ask(const Words& words, const Take& take, const char* refused = nullptr);
  [[nodiscard]] bool all_done() const { return std::ranges::all_of(nodes_, &Node::done); }
  static void end(Node& node, std::string objection = {}) {
    if (!objection.empty()) node.objection = std::move(objection);
    node.done = true;
  }

  const Coordinator& coordinator_;
  const std::size_t group_;
  const bool force_;
  std::vector<Node> nodes_;
};

/// Takes what the coordinator knows of the nodes now. The list stays as it was at first, whatever
/// becomes of the coordinator's.
Result<void> EnrolNew::list(bool anew) {
  const Result<std::vector<ListedGroup>> groups =
      detail::listed_groups(coordinator_, enrolling, anew);
  if (!groups) return groups.error();
  const std::vector<ListedNode>& now = (*groups)[group_].nodes;
  if (nodes_.empty()) {
    for (const ListedNode& one : now) nodes_.push_back({one});
  }
  for (Node& node : nodes_) {
    const auto its = std::ranges::find(now, node.listed.number, &ListedNode::number);
    if (its != now.end()) node.listed = *its;
  }
  return {};
}

/// Asks each node that is not done, and passes its reply to take(node, reply). `refused` says what
/// an error means, in place of the node's words.
template <class Words, class Take>
Result<void> EnrolNew::ask(const Words& words, const Take& take, const char* refused) {
  std::vector<NodeQuestion> questions;
  std::vector<Node*> asked;
  for (Node& node : nodes_) {
    if (node.done) continue;
    questions.push_back({node.listed.number, words(node)});
    asked.push_back(&node);
  }
  const Result<std::vector<NodeAnswer>> answers =
      detail::ask_nodes(coordinator_, enrolling, group_, std::move(questions));
  if (!answers) return answers.error();
  if (Result<void> listed = list(false); !listed) return listed;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Node& node = *asked[i];
    const NodeAnswer& answer = (*answers)[i];
    if (!node.listed.unfit.empty()) {
      end(node, node.listed.unfit);
    } else if (!answer.good()) {
      node.may_pass = !answer.reply;
      end(node, answer.reply && refused != nullptr ? refused : answer.trouble);
    } else if (!node.listed.refusal.empty()) {
      node.may_pass = node.listed.may_relent;
      end(node, node.listed.refusal);
    } else {
      take(node, *answer.reply);
    }
  }
  return {};
}

Result<void> EnrolNew::look() {
  using Words = std::vector<std::string>;
  if (Result<void> listed = list(true); !listed) return listed;
  Result<void> asked = ask(
      [](const Node&) {
        return Words{"GET", std::string(redis::enrolment_key)};
      },
      [this](Node& node, const NodeReply& reply) {
        if (reply.type != NodeReply::Type::string) return;
        node.record = reply.text;
        if (!force_) end(node, "is enrolled already, as " + node.record);
      });
  if (!asked) return asked;
  if (!force_) {
    asked = ask(
        [](const Node&) {
          return Words{"CLIENT", "LIST"};
        },
        [](Node& node, const NodeReply& reply) {
          for (const redis::ConnectedClient& client : redis::connected_clients(reply.text)) {
            if (!client.name.knows) continue;
            return end(node, "was enrolled before, by the word of the client at " + client.address +
                                 ", which may hold locks");
          }
        },
        "does not tell which clients are connected, and one may hold locks: let this user "
        "call CLIENT LIST");
  }
  while (asked && !all_done()) {
    asked = ask(
        [](const Node& node) {
          return Words{"SCAN", node.cursor, "MATCH", "quorumlock:*", "COUNT", "1000"};
        },
        [this](Node& node, const NodeReply& reply) {
          if (reply.elements.size() != 2) return end(node, "gives no keys");
          for (const NodeReply& key : reply.elements[1].elements) {
            if (force_ || key.text == redis::candidate_key || key.text == redis::repairer_key) {
              continue;
            }
            return end(node, "has a key of ours already, " + key.text);
          }
          node.cursor = reply.elements[0].text;
          if (node.cursor == "0") end(node);
        });
  }
  return asked;
}

Result<void> EnrolNew::enrol() {
  using Words = std::vector<std::string>;
  redis::Membership founding;
  founding.founding = nodes_.front().listed.founding;
  founding.to_terms = {nodes_.front().listed.max_ttl.count(),
                       nodes_.front().listed.fencing_memory.count()};
  for (Node& node : nodes_) {
    founding.to.push_back(node.listed.name);
    node.done = !node.objection.empty();
  }
  std::ranges::sort(founding.to);
  for (Node& node : nodes_) {
    if (node.done || redis::EnrolmentRecord::parse(node.listed.record)) continue;
    node.may_pass = true;
    end(node, "does not tell which run of it this is");
  }
  Result<void> asked = ask(
      [&founding](const Node& node) {
        const redis::Membership as = founding.for_node(node.listed.name);
        redis::EnrolmentRecord record = redis::EnrolmentRecord::parse(node.listed.record).value();
        record.members = as.mark();
        return Words{"EVAL",
                     std::string(redis::adopt_script.source),
                     "3",
                     std::string(redis::enrolment_key),
                     std::string(redis::candidate_key),
                     std::string(redis::members_key),
                     node.record,
                     record.to_string(),
                     as.text()};
      },
      [](Node& node, const NodeReply& reply) {
        if (reply.integer != 1) node.objection = "was enrolled by another client meanwhile";
      });
  // The coordinator must know of the enrolment before we report it: its look is answered before
  // PING. A look that was under way already may have been answered before the enrolment.
  for (int looks = 0; asked && !all_done() && looks < most_looks; ++looks) {
    asked = list(true);
    if (!asked) return asked;
    asked = ask([](const Node&) { return Words{"PING"}; },
                [](Node& node, const NodeReply&) {
                  if (node.listed.is_enrolled) end(node);
                });
  }
  return asked;
}

Result<void> EnrolNew::verdict() const {
  std::string objections;
  bool may_pass = true;
  for (const Node& node : nodes_) {
    if (node.objection.empty()) continue;
    objections += "; " + node.listed.node + " " + node.objection;
    may_pass = may_pass && node.may_pass;
  }
  if (objections.empty()) return {};
  const std::string why = "not every node was enrolled as new" + objections;
  if (may_pass) {
    return Error(Errc::no_quorum, why + ". quorumlock doctor says what to do first");
  }
  return Error(Errc::misconfigured,
               why +
                   ". Where no client can hold a lock on these nodes, force it; else let the "
                   "nodes wait until every lock has run out");
}

}  // namespace

Result<void> enroll_new(const Coordinator& coordinator, bool force) {
  const Result<std::vector<ListedGroup>> groups =
      detail::listed_groups(coordinator, enrolling, false);
  if (!groups) return groups.error();
  std::vector<EnrolNew> all;
  all.reserve(groups->size());
  // All groups are looked at before any of them is changed.
  for (std::size_t group = 0; group < groups->size(); ++group) {
    EnrolNew& one = all.emplace_back(coordinator, group, force);
    if (Result<void> looked = one.look(); !looked) return looked;
    if (Result<void> fine = one.verdict(); !fine && !force) return fine;
  }
  for (EnrolNew& one : all) {
    if (Result<void> enrolled = one.enrol(); !enrolled) return enrolled;
    if (Result<void> fine = one.verdict(); !fine) return fine;
  }
  return {};
}

}  // namespace quorumlock
