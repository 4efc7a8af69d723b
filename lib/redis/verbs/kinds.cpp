#include "redis/verbs/kinds.hpp"

namespace quorumlock::redis {
namespace {

using core::LockKind;
using enum Word;

/// Stands for a call that the engine never makes for a kind, or that goes out in batches only.
constexpr Call never{nullptr, {}, {}};

constexpr KindCalls one{
    .acquire = {&acquire_script,
                {locks, counters, enrolment},
                {token, ttl, fence, wall, life_if_used}},
    .acquire_in_line = {&acquire_ordered_script,
                        {locks, counters, enrolment},
                        {token, ttl, fence, wall, life_if_used, waiter, ticket, entry_life}},
    .raise = {&raise_script, {locks, counters, enrolment}, {token, fence, life}},
    .renew = never,  // see batched
    .release = {&release_script, {locks}, {token}},
    .release_in_line = {&release_script, {locks}, {token, waiter, not_woken}},
    .batched = {.acquire = true, .renew = true, .release = true},
};

constexpr Call acquire_shared{&acquire_shared_script,
                              {locks, counters, enrolment},
                              {token, ttl, fence, wall, life_if_used, waiter, ticket, entry_life}};
/// Also extends by token, whoever holds the lock.
constexpr Call renew_shared{
    &renew_shared_script, {locks, counters, enrolment}, {token, ttl, fence, replant, life}};

constexpr KindCalls shared{
    .acquire = acquire_shared,
    .acquire_in_line = acquire_shared,
    .raise = one.raise,
    .renew = renew_shared,
    .release = one.release,
    .release_in_line = one.release_in_line,
};

constexpr Call acquire_all{
    &acquire_all_script,
    {locks, counters, enrolment},
    {token, ttl, fence, wall, life_if_used, waiter, ticket, entry_life, mode}};

constexpr KindCalls all{
    .acquire = acquire_all,
    .acquire_in_line = acquire_all,
    .raise = {&raise_all_script, {locks, counters, enrolment}, {token, fence, life}},
    .renew = {&renew_all_script,
              {locks, counters, enrolment},
              {token, ttl, fence, replant, life, mode}},
    .release = {&release_all_script, {locks}, {token}},
    .release_in_line = {&release_all_script, {locks}, {token, waiter, not_woken}},
};

constexpr Call acquire_permit{
    &acquire_permit_script,
    {locks, counters, enrolment},
    {token, ttl, fence, wall, life, fenced, waiter, ticket, entry_life, slot, capacity}};
constexpr Call release_permit{&release_permit_script, {locks}, {token, slot, waiter, not_woken}};

constexpr KindCalls permit{
    .acquire = acquire_permit,
    .acquire_in_line = acquire_permit,
    .raise = {&raise_script, {slot_key, counters, enrolment}, {token, fence, life}},
    .renew = {&renew_permit_script,
              {slot_key, counters, enrolment, locks},
              {token, ttl, fence, replant, life, capacity}},
    .release = release_permit,
    .release_in_line = release_permit,
};

constexpr Call release_token{&release_token_script, {locks}, {token, max_ttl}};

constexpr KindCalls by_token{
    .acquire = never,
    .acquire_in_line = never,
    .raise = never,
    .renew = renew_shared,
    .release = release_token,
    .release_in_line = release_token,
};

/// The calls of a kind, if every lock of that kind can be renewed and released.
template <const KindCalls& calls>
const KindCalls& checked() {
  // Each script takes a key; GCC's sanitizers refuse to compare its address in a constant.
  static_assert(calls.renew.key_count != 0 || calls.batched.renew);
  static_assert(calls.release.key_count != 0 && calls.release_in_line.key_count != 0);
  return calls;
}

}  // namespace

const KindCalls& calls_of(LockKind kind) {
  switch (kind) {
    case LockKind::one: break;
    case LockKind::shared: return checked<shared>();
    case LockKind::all: return checked<all>();
    case LockKind::permit: return checked<permit>();
    case LockKind::by_token: return checked<by_token>();
  }
  return checked<one>();
}

}  // namespace quorumlock::redis
