#include "wire/primary_poll.hpp"

#include <algorithm>
#include <utility>

#include "lock/quorum.hpp"
#include "wire/words.hpp"

namespace quorumlock::redis {
namespace {

/// Reads a reply {host, port}.
std::optional<HostPort> address_in(const Reply& reply) {
  if (reply.type != Reply::Type::array || reply.elements.size() != 2) return std::nullopt;
  const std::string_view host = reply.elements[0].text;
  const bool brackets = host.find(':') != host.npos;
  const std::string url = "redis://" +
                          (brackets ? '[' + std::string(host) + ']' : std::string(host)) + ':' +
                          std::string(reply.elements[1].text);
  Result<Endpoint> endpoint = Endpoint::parse(url);
  if (!endpoint || !endpoint->login.empty() || endpoint->db != 0) return std::nullopt;
  return HostPort{std::move(endpoint->host), endpoint->port};
}

}  // namespace

PrimaryPoll::PrimaryPoll(const Sentinels& sentinels)
    : sentinels_(&sentinels), answers_(sentinels.addresses.size()) {}

void PrimaryPoll::append_question(std::string& out) const {
  append_command(out, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinels_->service});
}

void PrimaryPoll::on_reply(std::size_t sentinel, const Reply& reply) {
  Report answer;
  if (reply.type == Reply::Type::nil) {
    answer.why = "does not know the service";
  } else if (reply.type == Reply::Type::error) {
    answer.why = "answers " + words_of(reply);
  } else if (answer.reported = address_in(reply); !answer.reported) {
    answer.why = "answers with something that is no address";
  }
  count(sentinel, std::move(answer));
}

void PrimaryPoll::on_awaiting(std::size_t sentinel, std::string_view whom) {
  if (!answers_[sentinel].is_there) answers_[sentinel].why = whom;
}

void PrimaryPoll::on_failed(std::size_t sentinel, std::string_view why) {
  count(sentinel, {.why = std::string(why)});
}

void PrimaryPoll::count(std::size_t sentinel, Report answer) {
  if (answers_[sentinel].is_there) return;
  answers_[sentinel] = std::move(answer);
  answers_[sentinel].is_there = true;
  const std::optional<HostPort>& reported = answers_[sentinel].reported;
  const int needed = core::quorum_of(static_cast<int>(answers_.size()));
  if (reported && reports_of(*reported) >= needed) primary_ = reported;
}

int PrimaryPoll::reports_of(const HostPort& address) const {
  return static_cast<int>(std::ranges::count(answers_, std::optional(address), &Report::reported));
}

bool PrimaryPoll::is_decided() const {
  if (primary_) return true;
  const auto silent = static_cast<int>(std::ranges::count(answers_, false, &Report::is_there));
  int most = 0;
  for (const Report& answer : answers_) {
    if (answer.reported) most = std::max(most, reports_of(*answer.reported));
  }
  return most + silent < core::quorum_of(static_cast<int>(answers_.size()));
}

std::string PrimaryPoll::why_not() const {
  std::string text = "no majority of the Sentinels reports one primary of " + sentinels_->service;
  char before = ':';
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    if (!answers_[i].is_there) continue;
    text += std::exchange(before, ';');
    text += ' ' + text_of(i);
  }
  return text;
}

std::string PrimaryPoll::awaited() const {
  std::string text = "a majority of its Sentinels: ";
  for (std::size_t i = 0; i < answers_.size(); ++i) text += (i == 0 ? "" : "; ") + text_of(i);
  return text;
}

std::string PrimaryPoll::text_of(std::size_t sentinel) const {
  const Report& answer = answers_[sentinel];
  const std::string name = sentinels_->addresses[sentinel].text();
  if (answer.is_there) {
    return name + ' ' + (answer.reported ? "reports " + answer.reported->text() : answer.why);
  }
  return name + ": waiting for " + (answer.why.empty() ? "an answer" : answer.why);
}

}  // namespace quorumlock::redis
