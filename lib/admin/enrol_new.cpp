#include "admin/enrol_new.hpp"

#include <algorithm>

#include "loop/driver.hpp"
#include "redis/client_name.hpp"
#include "redis/keys.hpp"
#include "redis/scripts.hpp"

namespace quorumlock::detail {

using redis::Reply;

constexpr int most_looks = 3;  // after an enrolment; the second finds it

void EnrolNew::dismiss() {
  auto then = std::move(handler);
  delete this;
  then(Error(Errc::closed, "could not enroll the nodes: the coordinator is closed"));
}

void EnrolNew::start(Driver& driver) {
  list_ = driver.nodes();
  nodes_.resize(static_cast<std::size_t>(list_.size()));
  to_come_ = list_.size();
  driver.ask_facts();
  for (const NodeList::Node& node : list_) {
    driver.inquiries().ask(*this, node.number, record, {"GET", redis::enrolment_key});
  }
}

void EnrolNew::answered(Driver& driver, const Session::Answered& answer) {
  Node& node = nodes_[list_.place_of(answer.node)];
  // An answer that comes after its timeout: the node has been counted already.
  if (node.done || (enrolling_ && answer.tag.round < enrol)) return;
  const Reply* reply = answer.reply;
  if (driver.link(answer.node).voting_right().vote() == Vote::same_server) {
    return looked(driver, answer.node, driver.trouble(answer.node));
  }
  if (reply == nullptr || reply->type == Reply::Type::error) {
    node.may_pass = reply == nullptr;
    if (reply != nullptr && answer.tag.round == clients) {
      return looked(driver, answer.node,
                    "does not tell which clients are connected, and one may hold locks: let this "
                    "user call CLIENT LIST");
    }
    return looked(driver, answer.node,
                  reply != nullptr ? words_of(*reply) : driver.trouble(answer.node));
  }
  if (const auto& refused = driver.link(answer.node).greeting().writes_refused()) {
    node.may_pass = refused->vote == Vote::refuses_writes;
    return looked(driver, answer.node, "refuses writes: " + refused->why);
  }
  switch (static_cast<Question>(answer.tag.round)) {
    case record:
      if (reply->type == Reply::Type::string) {
        node.record = reply->text;
        if (!force) {
          return looked(driver, answer.node, "is enrolled already, as " + node.record);
        }
      }
      if (!force) return driver.inquiries().ask(*this, answer.node, clients, {"CLIENT", "LIST"});
      return look_at_keys(driver, answer.node, "0");
    case clients:
      for (const redis::ConnectedClient& client : redis::connected_clients(reply->text)) {
        if (!client.name.knows) continue;
        return looked(driver, answer.node,
                      "was enrolled before, by the word of the client at " + client.address +
                          ", which may hold locks");
      }
      return look_at_keys(driver, answer.node, "0");
    case keys: {
      if (reply->elements.size() != 2) return looked(driver, answer.node, "gives no keys");
      for (const Reply& key : reply->elements[1].elements) {
        if (force || key.text == redis::candidate_key || key.text == redis::repairer_key) continue;
        return looked(driver, answer.node, "has a key of ours already, " + std::string(key.text));
      }
      const std::string cursor(reply->elements[0].text);
      if (cursor == "0") return looked(driver, answer.node, {});
      return look_at_keys(driver, answer.node, cursor);
    }
    case enrol:
      if (reply->integer != 1) node.objection = "was enrolled by another client meanwhile";
      // Our link must know of the enrolment before we report it: its look is answered before PING.
      driver.look_again();
      return driver.inquiries().ask(*this, answer.node, settled, {"PING"});
    case settled: {
      // A look that was under way already may have been answered before the enrolment.
      const bool is_known =
          driver.link(answer.node).enrolment().standing() == redis::Enrolment::Standing::enrolled;
      if (is_known || ++node.looks == most_looks)
        return looked(driver, answer.node, node.objection);
      driver.look_again();
      return driver.inquiries().ask(*this, answer.node, settled, {"PING"});
    }
  }
}

void EnrolNew::look_at_keys(Driver& driver, int node, std::string_view cursor) {
  driver.inquiries().ask(*this, node, keys,
                         {"SCAN", cursor, "MATCH", "quorumlock:*", "COUNT", "1000"});
}

void EnrolNew::looked(Driver& driver, int node, const std::string& objection) {
  Node& of = nodes_[list_.place_of(node)];
  of.objection = objection;
  of.done = true;
  if (--to_come_ > 0) return;
  if (enrolling_) return finish(driver);
  for (const Node& one : nodes_) {
    if (!one.objection.empty() && !force) return finish(driver);
  }
  if (only_look) return finish(driver);
  enrol_all(driver);
}

void EnrolNew::enrol_all(Driver& driver) {
  enrolling_ = true;
  redis::NodeNames names;
  for (const NodeList::Node& node : list_) {
    names.push_back(driver.link(node.number).enrolment().config().node);
  }
  redis::Membership founding = *driver.link(list_.begin()->number).enrolment().others().founded;
  founding.to = names;
  std::ranges::sort(founding.to);
  for (const auto& [number, name] : list_) {
    const std::size_t place = list_.place_of(number);
    Node& node = nodes_[place];
    if (!node.objection.empty()) continue;
    node.done = false;
    ++to_come_;
    const redis::Membership as = founding.for_node(names[place]);
    const std::string text = driver.link(number).enrolment().wanted(as).to_string();
    driver.inquiries().ask(
        *this, number, enrol,
        {"EVAL", redis::adopt_script.source, "3", redis::enrolment_key, redis::candidate_key,
         redis::members_key, node.record, text, as.text()});
  }
  if (to_come_ == 0) finish(driver);
}

void EnrolNew::finish(Driver& driver) {
  std::string objections;
  bool may_pass = true;
  for (const auto& [number, name] : list_) {
    const Node& node = nodes_[list_.place_of(number)];
    if (node.objection.empty()) continue;
    objections += "; " + name + " " + node.objection;
    may_pass = may_pass && node.may_pass;
  }
  driver.inquiries().end(*this);
  auto then = std::move(handler);
  delete this;
  if (objections.empty()) return then({});
  const std::string why = "not every node was enrolled as new" + objections;
  if (may_pass) {
    return then(Error(Errc::no_quorum, why + ". quorumlock doctor says what to do first"));
  }
  then(Error(Errc::misconfigured,
             why + ". Where no client can hold a lock on these nodes, force it; else let the nodes "
                   "wait until every lock has run out"));
}

}  // namespace quorumlock::detail
