#include "loop/session.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "redis/keys.hpp"
#include "redis/verbs/line.hpp"

namespace quorumlock::detail {

using core::Time;
using redis::Link;
using redis::Subscriber;

namespace {

/// Whether this is the kind of an answer to one claim, as nearly every answer is.
bool is_to_a_claim(core::CommandKind kind) {
  return kind <= core::CommandKind::release;
}

bool is_batch(core::CommandKind kind) {
  using core::CommandKind;
  return kind >= CommandKind::renewals && kind <= CommandKind::releases;
}

}  // namespace

Session::Session(Config config, core::Random& random, core::WallClock& wall)
    : wall_(wall),
      engine_(config.engine, random),
      links_(std::move(config.links), random),
      repair_(*this, wall),
      notes_(*this),
      counter_life_(std::to_string(config.engine.fencing_memory / std::chrono::milliseconds(1))),
      around_{.max_ttl = config.engine.max_ttl, .counter_life = counter_life_},
      members_(*this, random) {}

bool Session::take_list(Time now, const std::vector<Link::Config>& list) {
  const int any = nodes().front();
  const std::optional<Links::Change> change = links_.replace(list);
  if (!change) return false;
  for (const int node : change->come) {
    jumps_[static_cast<std::size_t>(node)] = {};
    subscriber(node).listen_like(now, subscriber(any));
    engine_.add_node(now, node);
    link(node).start(now);
    touched(node);
    touched(subscriber_of(node));
  }
  for (const int node : change->gone) {
    engine_.remove_node(now, node);
    notes_.forget(node);
    repair_.forget(now, node);
    link(node).stop(now);
    subscriber(node).stop();
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
  // A client that does not wait for a node to have forgotten nothing needs no other node's word.
  const bool careless = std::ranges::any_of(nodes(), [this](int node) {
    return link(node).enrolment().config().policy == Quarantine::unsafe_never;
  });
  if (careless) members_.vouch(now);
  members_.judge(now);
  for (const int node : nodes()) {
    link(node).start(now);
    touched(node);
  }
}

void Session::stop(Time now) {
  for (const int node : nodes()) {
    link(node).stop(now);
    subscriber(node).stop();
    touched(node);
    touched(subscriber_of(node));
  }
}

void Session::look_again(Time now) {
  for (const int node : nodes()) {
    link(node).look_again(now);
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

void Session::doubt(Time now, int node) {
  link(node).doubt(now);
  touched(node);
}

void Session::ask(Time now, int node, const core::Tag& tag, std::string_view bytes) {
  if (!batch_.empty()) send_batch(now);
  link(node).send(now, tag, bytes);
  if (link(node).has_events()) touched(node);
}

void Session::advance(Time now) {
  for (const int node : nodes()) {
    if (link(node).deadline() > now) continue;
    link(node).advance(now);
    touched(node);
  }
  for (const int node : nodes()) {
    if (!listens_ || subscriber(node).deadline() > now) continue;
    subscriber(node).advance(now);
    touched(subscriber_of(node));
  }
  members_.advance(now);
  engine_.advance(now);
}

Time Session::deadline() const {
  Time due = std::min(engine_.deadline(), members_.deadline());
  for (const int node : nodes()) due = std::min(due, link(node).deadline());
  if (!listens_) return due;
  for (const int node : nodes()) {
    due = std::min(due, links_.subscriber(node).deadline());
  }
  return due;
}

std::optional<Session::Output> Session::next(Time now) {
  for (;;) {
    if (const core::Output* const output = engine_.next()) {
      if (const auto* sending = std::get_if<core::Send>(output)) {
        send(now, *sending);
      } else if (const auto* entries = std::get_if<core::SendEntries>(output)) {
        send(now, *entries);
      } else if (const auto* listening = std::get_if<core::Listen>(output)) {
        listen(now, *listening);
      } else if (const auto* jumped = std::get_if<core::ClockJumped>(output)) {
        const core::ClockJumped wrong = *jumped;
        if (wrong.size > core::Duration::zero()) ask_clocks(now, wrong.node);
        return note_of(wrong);
      } else if (const auto* stood = std::get_if<core::ClockStood>(output)) {
        return note_of(*stood);
      } else {
        std::optional<Output> mine;
        std::visit(
            [&mine](const auto& what) {
              if constexpr (std::is_constructible_v<Output, decltype(what)>) mine = what;
            },
            *output);
        return mine;
      }
    } else if (telling_.batch != core::SlotId() && tell_next(now)) {
      continue;
    } else if (list_changed_) {
      return *std::exchange(list_changed_, std::nullopt);
    } else if (members_.has_note()) {
      return Note{members_.take_note()};
    } else if (!talkative_.empty()) {
      const int node = *talkative_.begin();
      Link& from = link(node);
      for (;;) {
        Link::Event* const event = from.next(now);
        const auto* const answer = std::get_if<Link::Answer>(event);
        if (answer == nullptr || !is_to_a_claim(answer->tag.kind)) {
          std::optional<Output> mine;
          if (event != nullptr) mine = on_event(now, node, *event);
          if (event == nullptr || !from.may_have_more()) talkative_.remove(node);
          if (mine) return mine;
          break;
        }
        engine_.on_answer(now, node, answer->tag, answer->answer);
        if (!from.may_have_more()) {
          talkative_.remove(node);
          break;
        }
        if (engine_.has_outputs()) break;  // they must be handled before the engine's next input
      }
    } else if (!told_.empty()) {
      const int node = *told_.begin();
      std::optional<Subscriber::Event> event = subscriber(node).next(now);
      if (!event) {
        told_.remove(node);
      } else if (std::optional<Output> mine = on_message(now, node, *event)) {
        return mine;
      }
    } else if (!batch_.empty()) {
      send_batch(now);
    } else {
      return std::nullopt;
    }
  }
}

std::optional<Session::Output> Session::on_event(Time now, int node, Link::Event& event) {
  if (const auto* answer = std::get_if<Link::Answer>(&event)) return on_answer(now, node, *answer);
  if (const auto* late = std::get_if<Link::Late>(&event)) {
    if (late->tag.kind == core::CommandKind::query) {
      return Answered{node, late->tag, Vote::timed_out, nullptr};
    }
    if (late->tag.kind == core::CommandKind::repair) {
      on_repair(now, node, late->tag, nullptr);
    } else if (is_batch(late->tag.kind)) {
      begin_told(node, late->tag, true, {}, nullptr);
    } else {
      engine_.on_timeout(now, node, late->tag);
    }
  } else if (const auto* changed = std::get_if<Link::Changed>(&event)) {
    engine_.on_link(now, node, changed->state, changed->reason);
    members_.judge(now);
  } else if (std::holds_alternative<Link::Enrolled>(event)) {
    members_.judge(now);
  } else if (std::holds_alternative<Link::Greeted>(event)) {
    on_greeted(now, node);
  } else if (std::holds_alternative<Link::Repair>(event)) {
    repair_.begin(now, node);
  } else if (const auto* errand = std::get_if<Link::Errand>(&event)) {
    notes_.begin(now, node, errand->what);
  } else if (auto* note = std::get_if<Link::Note>(&event)) {
    return Note{std::move(note->sentence)};
  } else if (std::holds_alternative<Link::Connect>(event)) {
    return Connect{node};
  } else if (std::holds_alternative<Link::Disconnect>(event)) {
    return Disconnect{node};
  }
  return std::nullopt;
}

std::optional<Session::Output> Session::on_answer(Time now, int node, const Link::Answer& answer) {
  switch (answer.tag.kind) {
    case core::CommandKind::query:
      return Answered{node, answer.tag, answer.answer.vote, answer.reply};
    case core::CommandKind::repair: on_repair(now, node, answer.tag, answer.reply); break;
    case core::CommandKind::clock:
      if (answer.reply != nullptr) {
        const auto node_time = redis::time_of(*answer.reply);
        if (node_time) engine_.on_clock(now, node, answer.answer.asked, *node_time);
      }
      break;
    case core::CommandKind::renewals:
    case core::CommandKind::acquisitions:
    case core::CommandKind::releases:
      begin_told(node, answer.tag, false, answer.answer, answer.reply);
      break;
    case core::CommandKind::queue:
      if (answer.reply != nullptr) redis::line::read_places(*answer.reply, places_);
      engine_.on_places(now, node, answer.tag, answer.answer.vote, places_);
      break;
    default: break;  // next() has passed answers to a claim to the engine
  }
  return std::nullopt;
}

/// Takes an answer for Repair or for Notes.
void Session::on_repair(Time now, int node, const core::Tag& tag, const redis::Reply* reply) {
  if (tag.round >= Notes::first_round) return notes_.on_answer(now, node, tag, reply);
  repair_.on_answer(now, tag, reply);
}

/// Takes an event of a node's second connection.
std::optional<Session::Output> Session::on_message(Time now, int node, Subscriber::Event& event) {
  if (const auto* message = std::get_if<Subscriber::Message>(&event)) {
    if (message->channel.starts_with(redis::wake_prefix)) {
      std::uint64_t waiter = 0;
      int slot = 0;  // the free slot, after a dot
      const char* const end = message->text.data() + message->text.size();
      const char* at = std::from_chars(message->text.data(), end, waiter).ptr;
      if (at != end && *at == '.') at = std::from_chars(at + 1, end, slot).ptr;
      if (at == end) engine_.on_wake(now, node, waiter, slot);
    } else if (message->channel.starts_with(redis::free_prefix)) {
      const std::string_view key =
          std::string_view(message->channel).substr(redis::free_prefix.size());
      engine_.on_freed(now, node, key);
    } else if (message->channel.starts_with(redis::led_prefix)) {
      return Heard{message->channel.substr(redis::led_prefix.size())};
    }
  } else if (const auto* listening = std::get_if<Subscriber::Listening>(&event)) {
    if (listening->channel.starts_with(redis::wake_prefix)) engine_.on_listening(now);
    if (listening->channel.starts_with(redis::led_prefix)) {
      return Heard{listening->channel.substr(redis::led_prefix.size())};
    }
  } else if (auto* note = std::get_if<Subscriber::Note>(&event)) {
    return Note{std::move(note->sentence)};
  } else if (std::holds_alternative<Subscriber::Connect>(event)) {
    return Connect{subscriber_of(node)};
  } else if (std::holds_alternative<Subscriber::Disconnect>(event)) {
    return Disconnect{subscriber_of(node)};
  }
  return std::nullopt;
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

/// Begins to hand the engine a node's answers to a batch, or its timeouts if it is late.
void Session::begin_told(int node, const core::Tag& tag, bool late, const core::Answer& said,
                         const redis::Reply* reply) {
  Sent& sent = batches_[tag.claim];
  if (!late) --sent.unanswered;
  telling_.batch = tag.claim;
  telling_.node = node;
  telling_.late = late;
  telling_.next = 0;
  telling_.answers.read(tag.kind, said, reply, sent.tags.size());
}

/// Hands the engine one more of those answers; false if there is none left. One at a time, since
/// the engine's outputs are valid only until its next input.
bool Session::tell_next(Time now) {
  Sent* sent = batches_.find(telling_.batch);
  if (telling_.next == sent->tags.size()) {
    if (sent->unanswered == 0) batches_.give_back(telling_.batch);
    telling_.batch = core::SlotId();
    return false;
  }
  const core::Tag tag = sent->tags[telling_.next];
  if (telling_.late) {
    engine_.on_timeout(now, telling_.node, tag);
  } else {
    engine_.on_answer(now, telling_.node, tag, telling_.answers.of(telling_.next));
  }
  ++telling_.next;
  return true;
}

Session::Note Session::note_of(const core::ClockJumped& jumped) {
  jumps_[static_cast<std::size_t>(jumped.node)] = {jumped.size, jumped.until};
  const double seconds = std::chrono::duration<double>(jumped.size).count();
  char size[32];
  std::snprintf(size, sizeof size, "%.6f", std::abs(seconds));
  return {link(jumped.node).endpoint().name() + " has a wrong clock: it is " + size + " s " +
          (seconds > 0 ? "ahead of" : "behind") +
          " what drift_factor allows since it was last looked at; its votes do not count for "
          "max_ttl"};
}

Session::Note Session::note_of(const core::ClockStood& stood) {
  for (const int node : stood.trusted) jumps_[static_cast<std::size_t>(node)] = {};
  char size[32];
  std::snprintf(size, sizeof size, "%.6f", std::chrono::duration<double>(stood.size).count());
  return {
      "this process's own clock stood still for " + std::string(size) +
      " s or more: " + std::to_string(stood.ahead.size()) +
      " nodes are ahead of it at once; all leases have ended, and no node is mistrusted for it"};
}

}  // namespace quorumlock::detail
