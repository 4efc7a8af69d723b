#pragma once

#include "verbs/batch_form.hpp"

/// The verb "renew": moves the expiry of locks that we hold, never to an earlier time, and sets
/// anew what a node has lost if Send::replant says so.
namespace quorumlock::redis::renew {

/// Any renewal but those of plain locks: also by token, whoever has the lock, and that of a writer
/// which becomes a reader.
inline constexpr Call general{
    &renew_all_script,
    {Word::locks, Word::counters},
    {Word::token, Word::ttl, Word::fence, Word::replant, Word::mode, Word::slot, Word::capacity}};
core::Answer read(const Reply& reply);

/// Renewals of plain locks.
extern const BatchForm batch;

}  // namespace quorumlock::redis::renew
