#include "loop/session.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <quorumlock/event.hpp>

#include "verbs/line.hpp"

namespace quorumlock::detail {

using core::Time;
using redis::Link;

namespace {

/// Whether this is the kind of an answer to one claim, as nearly every answer is.
bool is_to_a_claim(core::CommandKind kind) {
  return kind <= core::CommandKind::release;
}

/// Whether a command of this kind is answered by Session::Answered.
bool is_of_the_user(core::CommandKind kind) {
  return kind == core::CommandKind::query || kind == core::CommandKind::once;
}

}  // namespace

Session::Session(Config config, core::Random& random, core::WallClock& wall)
    : engine_(config.engine, random),
      links_(std::move(config.links), random),
      sender_(links_, engine_, wall),
      messages_(links_, engine_),
      repair_(*this, wall),
      witnesses_(*this),
      members_(*this, random, link(nodes().front()).enrolment().config().named) {}

bool Session::take_list(Time now, const std::vector<Link::Config>& list) {
  const int any = nodes().front();
  const std::optional<Links::Change> change = links_.replace(list);
  if (!change) return false;
  for (const int node : change->come) {
    clock_jumps_[static_cast<std::size_t>(node)] = {};
    links_.subscriber(node).listen_like(now, links_.subscriber(any));
    engine_.add_node(now, node);
    link(node).start(now);
    touched(node);
    touched(subscriber_of(node));
  }
  for (const int node : change->gone) {
    engine_.remove_node(now, node);
    repair_.forget(now, node);
    link(node).stop(now);
    links_.subscriber(node).stop();
    touched(node);
    touched(subscriber_of(node));
  }
  list_changed_.emplace();
  for (const int node : change->reused) {
    list_changed_->wires.insert(list_changed_->wires.end(), {node, subscriber_of(node)});
  }
  return true;
}

void Session::start(Time now) {
  members_.judge(now);
  for (const int node : nodes()) {
    link(node).start(now);
    touched(node);
  }
}

void Session::stop(Time now) {
  for (const int node : nodes()) {
    link(node).stop(now);
    links_.subscriber(node).stop();
    touched(node);
    touched(subscriber_of(node));
  }
}

std::string Session::trouble(Time now, int node) const {
  std::string text = link(node).trouble(now);
  if (const std::uint64_t read = repair_.counters_read(node); read > 0) {
    text += "; its fencing counters are being brought up to date, " + std::to_string(read) +
            " looked at so far";
  }
  return printable(text);
}

void Session::look_again(Time now) {
  for (const int node : nodes()) {
    link(node).look_again(now);
    touched(node);
  }
}

void Session::ask_facts(Time now) {
  for (const int node : nodes()) {
    link(node).ask_facts(now);
    touched(node);
  }
}

bool Session::ripe() const {
  return std::ranges::all_of(nodes(), [this](int node) { return link(node).enrolment().ripe(); });
}

bool Session::was_enrolled() const {
  return std::ranges::any_of(nodes(),
                             [this](int node) { return link(node).enrolment().was_enrolled(); });
}

bool Session::is_at_work() const {
  bool waits = false, works = witnesses_.asks();
  for (const int node : nodes()) {
    const redis::Enrolment& its = link(node).enrolment();
    if (link(node).state() != core::LinkState::quarantined) {
      works = works || link(node).attempts().is_first();
    } else if (its.standing() == redis::Enrolment::Standing::quarantined) {
      waits = true;
      works = works || its.candidacy().is_at_work();
    }
  }
  return waits && works;
}

bool Session::is_in_list(int node) const {
  return std::ranges::find(nodes(), node) != nodes().end();
}

void Session::doubt(Time now, int node) {
  link(node).doubt(now);
  touched(node);
}

void Session::advance(Time now) {
  for (const int node : nodes()) {
    if (link(node).deadline() > now) continue;
    link(node).advance(now);
    touched(node);
  }
  messages_.advance(now);
  members_.advance(now);
  engine_.advance(now);
}

Time Session::deadline() const {
  Time due = std::min({engine_.deadline(), members_.deadline(), messages_.deadline()});
  for (const int node : nodes()) due = std::min(due, link(node).deadline());
  return due;
}

std::optional<Session::Output> Session::next(Time now) {
  std::optional<Output> mine;  // built in place, since it is large
  do {
    if (const core::Output* const output = engine_.next()) {
      carry_out(now, *output, mine);
    } else if (sender_.has_answers()) {
      sender_.hand_on(now);
    } else if (list_changed_) {
      mine.emplace(*std::exchange(list_changed_, std::nullopt));
    } else if (members_.has_news()) {
      mine.emplace(members_.take_news());
    } else if (!links_.touched_links().empty()) {
      next_of_links(now, mine);
    } else if (!links_.touched_subscribers().empty()) {
      std::optional<Messages::Output> message = messages_.next(now);
      if (message) std::visit([&mine](auto& what) { mine.emplace(std::move(what)); }, *message);
    } else if (engine_.send_queued()) {
      continue;
    } else if (sender_.holds_batch()) {
      sender_.flush(now);
    } else {
      break;
    }
  } while (!mine);
  return mine;
}

/// Carries out an output of the engine. `mine` is what is left to the user, if anything.
void Session::carry_out(Time now, const core::Output& output, std::optional<Output>& mine) {
  if (const auto* sending = std::get_if<core::Send>(&output)) {
    sender_.send(now, *sending);
  } else if (const auto* entries = std::get_if<core::SendEntries>(&output)) {
    sender_.send(now, *entries);
    messages_.ping_sometimes(now, entries->life);
  } else if (const auto* listening = std::get_if<core::Listen>(&output)) {
    messages_.listen(now, *listening);
  } else if (const auto* jumped = std::get_if<core::ClockJumped>(&output)) {
    const core::ClockJumped wrong = *jumped;
    if (wrong.size > core::Duration::zero()) sender_.ask_clocks(now, wrong.node);
    clock_jumps_[static_cast<std::size_t>(wrong.node)] = wrong;
    mine.emplace(wrong);
  } else if (const auto* stood = std::get_if<core::ClockStood>(&output)) {
    for (const int node : stood->trusted) clock_jumps_[static_cast<std::size_t>(node)] = {};
    mine.emplace(*stood);
  } else {
    std::visit(
        [&mine](const auto& what) {
          if constexpr (std::is_constructible_v<Output, decltype(what)>) mine.emplace(what);
        },
        output);
  }
}

/// Takes the events of a touched link until one is not an answer to a claim, or the engine has
/// outputs.
void Session::next_of_links(Time now, std::optional<Output>& mine) {
  core::NodeSet& talkative = links_.touched_links();
  const int node = *talkative.begin();
  Link& from = link(node);
  for (;;) {
    Link::Event* const event = from.next(now);
    const auto* const answer = std::get_if<Link::Answered>(event);
    if (answer == nullptr || !is_to_a_claim(answer->tag.kind)) {
      if (event != nullptr) mine = on_event(now, node, *event);
      if (event == nullptr || !from.may_have_more()) talkative.remove(node);
      return;
    }
    engine_.on_answer(now, node, answer->tag, answer->answer);
    if (!from.may_have_more()) {
      talkative.remove(node);
      return;
    }
    if (engine_.has_outputs()) return;  // before the engine's next input
  }
}

std::optional<Session::Output> Session::on_event(Time now, int node, Link::Event& event) {
  if (const auto* answer = std::get_if<Link::Answered>(&event))
    return on_answer(now, node, *answer);
  if (const auto* late = std::get_if<Link::Late>(&event)) {
    if (is_of_the_user(late->tag.kind)) {
      return Answered{node, late->tag, Vote::timed_out, nullptr};
    }
    on_late(now, node, late->tag);
  } else if (const auto* changed = std::get_if<Link::Changed>(&event)) {
    const NodeChanged what{node, changed->state, changed->reason};
    engine_.on_link(now, node, what.state, what.reason);
    members_.judge(now);
    witnesses_.came(now, node);
    return what;
  } else if (std::holds_alternative<Link::Enrolled>(event)) {
    members_.judge(now);
  } else if (std::holds_alternative<Link::Greeted>(event)) {
    on_greeted(now, node);
  } else if (std::holds_alternative<Link::Repair>(event)) {
    repair_.begin(now, node);
  } else if (std::holds_alternative<Link::AskTimes>(event)) {
    witnesses_.looked(now, node);
  } else if (auto* note = std::get_if<Link::Note>(&event)) {
    return News{EventKind::node_impaired, std::move(note->why), node};
  } else if (std::holds_alternative<Link::StillDown>(event) ||
             std::holds_alternative<Link::Writes>(event)) {
    return NodeChanged{node, link(node).state(), link(node).reason()};
  } else if (std::holds_alternative<Link::Connect>(event)) {
    return Connect{node};
  } else if (std::holds_alternative<Link::Disconnect>(event)) {
    return Disconnect{node};
  }
  return std::nullopt;
}

std::optional<Session::Output> Session::on_answer(Time now, int node,
                                                  const Link::Answered& answer) {
  switch (answer.tag.kind) {
    case core::CommandKind::query:
    case core::CommandKind::once:
      return Answered{node, answer.tag, answer.answer.vote, answer.reply};
    case core::CommandKind::repair: repair_.on_answer(now, answer.tag, answer.reply); break;
    case core::CommandKind::witness:
      witnesses_.on_answer(now, node, answer.tag, answer.reply);
      break;
    case core::CommandKind::clock:
      if (answer.reply != nullptr) {
        const auto node_time = redis::time_of(*answer.reply);
        if (node_time) engine_.on_clock(now, node, answer.answer.asked, *node_time);
      }
      break;
    case core::CommandKind::renewals:
    case core::CommandKind::acquisitions:
    case core::CommandKind::releases:
      sender_.on_answer(node, answer.tag, answer.answer, answer.reply);
      break;
    case core::CommandKind::queue:
      if (answer.reply != nullptr) redis::line::read_places(*answer.reply, places_);
      engine_.on_places(now, node, answer.tag, answer.answer.vote, places_, answer.answer.asked);
      break;
    default: break;  // next() has passed answers to a claim to the engine
  }
  return std::nullopt;
}

void Session::on_late(Time now, int node, const core::Tag& tag) {
  if (tag.kind == core::CommandKind::witness) return;  // its answer may come yet
  if (tag.kind == core::CommandKind::repair) {
    repair_.on_answer(now, tag, nullptr);
  } else if (Sender::is_batch(tag.kind)) {
    sender_.on_late(node, tag);
  } else {
    engine_.on_timeout(now, node, tag);
  }
}

/// Bars a server that is connected under another address, too: it would have two votes.
void Session::on_greeted(Time now, int node) {
  const std::string& run_id = link(node).greeting().facts().run_id;
  for (const int other : nodes()) {
    if (other == node || run_id.empty()) continue;
    if (link(other).greeting().facts().run_id == run_id) {
      return link(node).bar(
          now, Vote::same_server,
          "is the same server as " + link(other).endpoint().name() + ": name each server once");
    }
  }
  link(node).admit(now);
}

}  // namespace quorumlock::detail
