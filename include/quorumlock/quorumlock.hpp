#pragma once

/// Includes everything that a program needs in order to lock. An operator's program includes
/// admin.hpp in addition.

#include <quorumlock/clock.hpp>
#include <quorumlock/coordinator.hpp>
#include <quorumlock/election.hpp>
#include <quorumlock/event.hpp>
#include <quorumlock/inspection.hpp>
#include <quorumlock/lease.hpp>
#include <quorumlock/metrics.hpp>
#include <quorumlock/mutex.hpp>
#include <quorumlock/options.hpp>
#include <quorumlock/outcome.hpp>
#include <quorumlock/result.hpp>
#include <quorumlock/semaphore.hpp>
#include <quorumlock/stats.hpp>
#include <quorumlock/status.hpp>
#include <quorumlock/version.hpp>
