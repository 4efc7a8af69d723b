#pragma once

#include <string>

#include "verbs/batch_form.hpp"

/// The verb "acquire": takes a lock for an owner token, if it is free and nobody is before us.
namespace quorumlock::redis::acquire {

/// Any acquisition: of one lock or several, or of a permit, in the line or not.
extern const Call general;
core::Answer read(const Reply& reply);

/// SET NX, for a lock outside of lines without a fencing counter.
void append_set(std::string& out, const core::Send& send);
core::Answer read_set(const Reply& reply);

/// Acquisitions of plain locks outside of lines, with or without a fencing counter.
extern const BatchForm batch;

}  // namespace quorumlock::redis::acquire
