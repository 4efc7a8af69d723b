#include "redis/subscriber.hpp"

#include <algorithm>
#include <utility>

#include "redis/back_off.hpp"
#include "redis/words.hpp"

namespace quorumlock::redis {

using core::Duration;
using core::Time;

Subscriber::Subscriber(Config config, core::Random& random)
    : config_(std::move(config)), login_(config_.endpoint.login), random_(random) {}

void Subscriber::log_in(Time, const Login& login) {
  login_ = login;
}

void Subscriber::listen(Time now, const std::string& channel) {
  if (state_ == State::stopped || channels_[channel]++ > 0) return;
  if (state_ == State::idle) return open(now);
  if (!greeted_) return;
  append_command(output_, {"SUBSCRIBE", channel});
  expect_answer(now);
}

/// Sets a deadline for the answer to the command just appended, if the connection has been idle for
/// so long that the path may have forgotten it.
void Subscriber::expect_answer(Time now) {
  if (state_ != State::up || answer_due_ != core::never) return;
  if (now >= heard_ + idle_may_be_forgotten) answer_due_ = now + config_.node_timeout;
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
  if (greeted_) append_command(output_, {"UNSUBSCRIBE", channel});
}

void Subscriber::open(Time now) {
  state_ = State::opening;
  next_try_ = core::never;
  give_up_opening_ = now + config_.connect_timeout;
  events_.push(Connect{});
}

void Subscriber::on_open() {
  if (state_ != State::opening || greeted_) return;
  greeted_ = true;
  reader_.reset();
  wipe(output_);
  written_ = 0;
  logging_in_ = !login_.empty();
  if (logging_in_) append_login(output_, login_);
  for (const auto& [channel, times] : channels_) append_command(output_, {"SUBSCRIBE", channel});
  // Channels belong to the server, not to a database: no SELECT. If no channel is wanted any more,
  // a PING finds out whether the server is there.
  if (channels_.empty()) append_command(output_, {"PING"});
}

void Subscriber::on_closed(Time now, std::string_view why) {
  if (state_ == State::opening || state_ == State::up) fail(now, why);
}

void Subscriber::fail(Time now, std::string_view why) {
  const bool was_up = state_ == State::up;
  // Attempts go on without end, but only the first failure is logged: waiting works without this
  // connection.
  if (was_up || back_off_ == Duration::zero()) {
    events_.push(Note{config_.endpoint.name() + " sends no wake-ups: " + std::string(why)});
  }
  events_.push(Disconnect{});
  state_ = State::resting;
  greeted_ = logging_in_ = pinged_ = false;
  give_up_opening_ = answer_due_ = core::never;
  reader_.reset();
  wipe(output_);
  written_ = 0;
  back_off_ = std::clamp(2 * back_off_, first_back_off, longest_back_off);
  next_try_ = now + back_off_ / 2 + random_.below(back_off_ / 2);
}

void Subscriber::on_bytes(std::string_view bytes) {
  if (connected()) reader_.feed(bytes);
}

void Subscriber::ping(Time now) {
  if (state_ != State::up) return;
  if (pinged_) {
    if (now >= pinged_at_ + config_.connect_timeout) fail(now, "no answer");
    return;
  }
  pinged_ = true;
  pinged_at_ = now;
  append_command(output_, {"PING"});
  expect_answer(now);
}

void Subscriber::advance(Time now) {
  if (now >= give_up_opening_) return fail(now, "no answer within connect_timeout");
  if (now >= answer_due_) {
    fail(now, "no answer within node_timeout on a connection that had been idle");
    back_off_ = Duration::zero();
    return open(now);
  }
  if (now >= next_try_) open(now);
}

Time Subscriber::deadline() const {
  return std::min({give_up_opening_, next_try_, answer_due_});
}

void Subscriber::stop() {
  if (state_ == State::opening || state_ == State::up) events_.push(Disconnect{});
  state_ = State::stopped;
  greeted_ = false;
  give_up_opening_ = next_try_ = answer_due_ = core::never;
  wipe(output_);
  written_ = 0;
}

std::optional<Subscriber::Event> Subscriber::next(Time now) {
  for (;;) {
    if (!events_.empty()) return events_.pop();
    if (!connected()) return std::nullopt;
    const Reply* reply = reader_.next();
    if (reply == nullptr) {
      if (reader_.broken().empty()) return std::nullopt;
      fail(now, "sent what is not a reply: " + reader_.broken());
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
    give_up_opening_ = core::never;
    back_off_ = Duration::zero();
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

void Subscriber::wrote(std::size_t bytes) {
  written_ += bytes;
  if (written_ <= output_.size() / 2) return;
  if (written_ == output_.size()) {
    wipe(output_);  // it may have a password in it
  } else {
    output_.erase(0, written_);
  }
  written_ = 0;
}

}  // namespace quorumlock::redis
