#include "verbs/dispatch.hpp"

#include <algorithm>

#include "lock/mutants.hpp"
#include "verbs/acquire.hpp"
#include "verbs/line.hpp"
#include "verbs/once.hpp"
#include "verbs/raise.hpp"
#include "verbs/release.hpp"
#include "verbs/renew.hpp"
#include "verbs/vote.hpp"

namespace quorumlock::redis {

using core::CommandKind;
using core::Mutant;
using core::planted;

namespace {

/// How commands of this kind, or a batch of this kind, go out together; null if they never do.
const BatchForm* form_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::acquire:
    case CommandKind::acquisitions: return &acquire::batch;
    case CommandKind::renew:
    case CommandKind::renewals: return &renew::batch;
    case CommandKind::release:
    case CommandKind::releases: return &release::batch;
    default: return nullptr;
  }
}

/// The script's call for a command that is not in a batch.
const Call& call_of(CommandKind kind) {
  switch (kind) {
    case CommandKind::acquire: return acquire::general;
    case CommandKind::raise: return raise::general;
    case CommandKind::renew: return renew::general;
    default: return release::general;  // the engine sends no other kind as a Send
  }
}

}  // namespace

void append_command(std::string& out, const core::Send& send, const Surroundings& around) {
  if (send.tag.kind == CommandKind::set) return acquire::append_set(out, send);
  append_call(out, call_of(send.tag.kind), send, around);
}

core::Answer answer_of(CommandKind kind, const Reply& reply) {
  if (reply.type == Reply::Type::error && kind != CommandKind::release) {
    return {vote_of_error(reply.text)};
  }
  switch (kind) {
    case CommandKind::set: return acquire::read_set(reply);
    case CommandKind::acquire: return acquire::read(reply);
    case CommandKind::raise: return raise::read(reply);
    case CommandKind::renew: return renew::read(reply);
    case CommandKind::release: return release::read(reply);
    case CommandKind::queue: return line::read(reply);
    case CommandKind::once: return once::read(reply);
    case CommandKind::clock:
      return {reply.type == Reply::Type::array ? Vote::granted : Vote::failed};
    case CommandKind::acquisitions:
    case CommandKind::renewals:
    case CommandKind::releases: return form_of(kind)->read(reply);
    case CommandKind::query:
    case CommandKind::witness:
    case CommandKind::repair: return {};  // the user reads the reply
  }
  return {Vote::failed};
}

bool Batch::can_be(const core::Send& send) {
  const BatchForm* const form = form_of(send.tag.kind);
  return form != nullptr && form->takes(send);
}

bool Batch::takes(const core::Send& send) const {
  if (empty()) return true;
  return tags_.size() < form_->most && send.to == first_.to && send.tag.kind == first_.tag.kind &&
         send.tag.with_source == first_.tag.with_source && send.ttl == first_.ttl &&
         send.replant == first_.replant && send.fenced == first_.fenced;
}

void Batch::add(const core::Send& send) {
  if (empty()) {
    form_ = form_of(send.tag.kind);
    first_ = send;
    first_.lock.first = first_key_ = send.lock.first;
    first_.token = first_token_ = send.token;
    least_left_ = send.left;
  }
  least_left_ = std::min(least_left_, send.left);
  first_.fence = std::max(first_.fence, send.fence);  // the greatest of all that are seen
  tags_.push_back(send.tag);
  locks_.add(form_->of_each, send);
}

void Batch::append_to(std::string& out, const Surroundings& around) const {
  append_call(out, form_->common, form_->of_each, locks_, first_, around);
}

const core::Answer& BatchAnswers::of(std::size_t number) const {
  if (planted(Mutant::batch_answers_mixed_up)) return answers_[(number + 1) % answers_.size()];
  return answers_[number];
}

void BatchAnswers::read(CommandKind kind, const core::Answer& said, const Reply* reply,
                        std::size_t locks) {
  answers_.assign(locks, said);
  // One reading of the node's clock per batch is enough.
  for (std::size_t i = 1; i < locks; ++i) answers_[i].node_time = 0;
  if (said.vote != Vote::granted || reply == nullptr) return;
  if (form_of(kind)->read_each(*reply, answers_)) return;
  for (core::Answer& answer : answers_) answer.vote = Vote::failed;
}

}  // namespace quorumlock::redis
