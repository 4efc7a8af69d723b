#include "loop/messages.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "verbs/keys.hpp"

namespace quorumlock::detail {

using core::Time;
using redis::Subscriber;

void Messages::listen(Time now, const std::string& channel, bool on) {
  listens_ = true;
  for (const int node : links_.nodes()) {
    Subscriber& its = links_.subscriber(node);
    if (on) {
      its.listen(now, channel);
    } else {
      its.leave(channel);
    }
    if (its.has_events()) links_.touched(subscriber_of(node));
  }
}

void Messages::listen(Time now, const core::Listen& listening) {
  listen(now, std::string(redis::wake_prefix) + listening.process, true);
}

void Messages::ping(Time now) {
  for (const int node : links_.nodes()) {
    Subscriber& its = links_.subscriber(node);
    its.ping(now);
    if (its.has_events()) links_.touched(subscriber_of(node));
  }
}

void Messages::ping_sometimes(Time now, core::Duration life) {
  if (now < next_ping_) return;
  next_ping_ = now + life / 3;
  ping(now);
}

void Messages::advance(Time now) {
  if (!listens_) return;
  for (const int node : links_.nodes()) {
    if (links_.subscriber(node).deadline() > now) continue;
    links_.subscriber(node).advance(now);
    links_.touched(subscriber_of(node));
  }
}

Time Messages::deadline() const {
  Time due = core::never;
  if (!listens_) return due;
  for (const int node : links_.nodes()) due = std::min(due, links_.subscriber(node).deadline());
  return due;
}

std::optional<Messages::Output> Messages::next(Time now) {
  const int node = *links_.touched_subscribers().begin();
  std::optional<Subscriber::Event> event = links_.subscriber(node).next(now);
  if (event) return on_event(now, node, *event);
  links_.touched_subscribers().remove(node);
  return std::nullopt;
}

std::optional<Messages::Output> Messages::on_event(Time now, int node, Subscriber::Event& event) {
  if (const auto* message = std::get_if<Subscriber::Message>(&event)) {
    const std::string_view channel = message->channel;
    if (channel.starts_with(redis::wake_prefix)) {
      on_wake(now, node, message->text);
    } else if (channel.starts_with(redis::led_prefix)) {
      return Heard{std::string(channel.substr(redis::led_prefix.size()))};
    }
  } else if (const auto* listening = std::get_if<Subscriber::Listening>(&event)) {
    if (listening->channel.starts_with(redis::wake_prefix)) engine_.on_listening(now);
    if (listening->channel.starts_with(redis::led_prefix)) {
      return Heard{listening->channel.substr(redis::led_prefix.size())};
    }
  } else if (auto* note = std::get_if<Subscriber::Note>(&event)) {
    return News{EventKind::node_impaired, std::move(note->why), node};
  } else if (std::holds_alternative<Subscriber::Connect>(event)) {
    return OpenWire{subscriber_of(node)};
  } else if (std::holds_alternative<Subscriber::Disconnect>(event)) {
    return CloseWire{subscriber_of(node)};
  }
  return std::nullopt;
}

/// Reads the number of the waiter and, after a dot, that of the slot that is free.
void Messages::on_wake(Time now, int node, const std::string& text) {
  std::uint64_t waiter = 0;
  int slot = 0;
  const char* const end = text.data() + text.size();
  const char* at = std::from_chars(text.data(), end, waiter).ptr;
  if (at != end && *at == '.') at = std::from_chars(at + 1, end, slot).ptr;
  if (at == end) engine_.on_wake(now, node, waiter, slot);
}

}  // namespace quorumlock::detail
