#pragma once

#include "redis/verbs/batch_form.hpp"

/// The verb "renew": moves the expiry of locks that we hold, never to an earlier time, and sets
/// anew what a node has lost if Send::replant says so.
namespace quorumlock::redis::renew {

core::Answer read(const Reply& reply);

/// Renewals of locks of kind one, also of a single one.
extern const BatchForm batch;

}  // namespace quorumlock::redis::renew
