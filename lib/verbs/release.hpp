#pragma once

#include "verbs/batch_form.hpp"

/// The verb "release": deletes what holds our owner token, and wakes the head of the line.
namespace quorumlock::redis::release {

/// Any release: also by token, and with waiters that leave the line or wait on.
inline constexpr Call general{
    &release_all_script,
    {Word::locks},
    {Word::token, Word::waiter, Word::not_woken, Word::slot, Word::barred}};
/// Reads 0 (nothing of ours there) or 1 (deleted); or, if the line has waiters, {1, whether
/// Send::not_woken is first in it, greatest ticket}.
core::Answer read(const Reply& reply);

/// Releases of one key with one holder, by which no waiter enters or leaves a line.
extern const BatchForm batch;

}  // namespace quorumlock::redis::release
