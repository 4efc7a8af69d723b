#include "wire/subscriber.hpp"

#include <algorithm>
#include <utility>

#include "wire/back_off.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {

using core::Time;

Subscriber::Subscriber(Config config, core::Random& random)
    : RespWire(std::move(config.endpoint)),
      connect_timeout_(config.connect_timeout),
      node_timeout_(config.node_timeout),
      login_(endpoint().login),
      attempts_(config.connect_timeout, random) {}

void Subscriber::log_in(Time, const Login& login) {
  login_ = login;
}

void Subscriber::listen(Time now, const std::string& channel) {
  if (state_ == State::stopped || channels_[channel]++ > 0) return;
  if (state_ == State::idle) return open(now);
  if (!connected()) return;
  append_command(output_buffer().text(), {"SUBSCRIBE", channel});
  expect_answer(now);
}

/// Sets a deadline for the answer to the command just appended, if the connection has been idle for
/// so long that the path may have forgotten it.
void Subscriber::expect_answer(Time now) {
  if (state_ != State::up || answer_due_ != core::never) return;
  if (now >= heard_ + idle_may_be_forgotten) answer_due_ = now + node_timeout_;
}

void Subscriber::listen_like(Time now, const Subscriber& other) {
  for (const auto& [channel, times] : other.channels_) {
    for (int i = 0; i < times; ++i) listen(now, channel);
  }
}

void Subscriber::leave(const std::string& channel) {
  const auto found = channels_.find(channel);
  if (found == channels_.end() || --found->second > 0) return;
  channels_.erase(found);
  if (connected()) append_command(output_buffer().text(), {"UNSUBSCRIBE", channel});
}

void Subscriber::open(Time now) {
  state_ = State::opening;
  attempts_.begin(now);
  events_.push(Connect{});
}

void Subscriber::on_open() {
  if (state_ != State::opening || connected()) return;
  begin_connection();
  std::string& out = output_buffer().text();
  logging_in_ = !login_.empty();
  if (logging_in_) output_buffer().add_login(login_);
  for (const auto& [channel, times] : channels_) append_command(out, {"SUBSCRIBE", channel});
  // Channels belong to the server, not to a database: no SELECT. If no channel is wanted any more,
  // a PING finds out whether the server is there.
  if (channels_.empty()) append_command(out, {"PING"});
}

void Subscriber::on_closed(Time now, std::string_view why) {
  if (state_ == State::opening || state_ == State::up) fail(now, why);
}

void Subscriber::fail(Time now, std::string_view why) {
  const bool was_up = state_ == State::up;
  // Attempts go on without end, but only the first failure is an event: waiting works without this
  // connection.
  if (was_up || !attempts_.is_repeated()) {
    events_.push(Note{"sends no wake-ups: " + std::string(why)});
  }
  events_.push(Disconnect{});
  state_ = State::resting;
  logging_in_ = pinged_ = false;
  answer_due_ = core::never;
  end_connection();
  attempts_.end(now);
}

void Subscriber::ping(Time now) {
  if (state_ != State::up) return;
  if (pinged_) {
    if (now >= pinged_at_ + connect_timeout_) fail(now, "no answer");
    return;
  }
  pinged_ = true;
  pinged_at_ = now;
  append_command(output_buffer().text(), {"PING"});
  expect_answer(now);
}

void Subscriber::advance(Time now) {
  if (attempts_.is_overdue(now)) return fail(now, not_in_time());
  if (now >= answer_due_) {
    fail(now, "no answer within node_timeout on a connection that had been idle");
    attempts_.forgive();
    return open(now);
  }
  if (attempts_.is_due(now)) open(now);
}

Time Subscriber::deadline() const {
  return std::min(attempts_.deadline(), answer_due_);
}

void Subscriber::stop() {
  if (state_ == State::opening || state_ == State::up) events_.push(Disconnect{});
  state_ = State::stopped;
  attempts_.stop();
  answer_due_ = core::never;
  end_connection();
}

std::optional<Subscriber::Event> Subscriber::next(Time now) {
  for (;;) {
    if (!events_.empty()) return events_.pop();
    if (!connected()) return std::nullopt;
    const Reply* reply = reader().next();
    if (reply == nullptr) {
      if (reader().broken().empty()) return std::nullopt;
      fail(now, "sent what is not a reply: " + reader().broken());
      continue;
    }
    on_reply(now, *reply);
  }
}

void Subscriber::on_reply(Time now, const Reply& reply) {
  heard_ = now;
  answer_due_ = core::never;
  if (reply.type == Reply::Type::error) return fail(now, words_of(reply, login_));
  if (std::exchange(logging_in_, false)) return;
  if (state_ == State::opening) {
    state_ = State::up;
    attempts_.succeed(now);
  }
  // A PING is answered by +PONG before the first SUBSCRIBE, and by an array with "pong" after it.
  if (reply.type != Reply::Type::array) {
    pinged_ = false;
    return;
  }
  const std::span<const Reply> words = reply.elements;
  if (words.size() == 2) pinged_ = false;
  if (words.size() != 3) return;
  if (words[0].text == "subscribe") {
    events_.push(Listening{std::string(words[1].text)});
  } else if (words[0].text == "message") {
    events_.push(Message{std::string(words[1].text), std::string(words[2].text)});
  }
}

}  // namespace quorumlock::redis
