#pragma once

/// The version of these headers, for programs that are built with several versions. A program that
/// was built with a 0.2 runs with every later 0.2, and with no other minor version.
///
///     #if QUORUMLOCK_VERSION_NUMBER >= 300  // 0.3.0
///     #endif

/// Changes when a program may break, from 1.0.0 on.
#define QUORUMLOCK_VERSION_MAJOR 0
/// Changes when a program may break, before 1.0.0.
#define QUORUMLOCK_VERSION_MINOR 2
/// Changes when functions are added or something is mended.
#define QUORUMLOCK_VERSION_PATCH 0

/// The version as a number to compare: 10203 is 1.2.3.
#define QUORUMLOCK_VERSION_NUMBER \
  (QUORUMLOCK_VERSION_MAJOR * 10000 + QUORUMLOCK_VERSION_MINOR * 100 + QUORUMLOCK_VERSION_PATCH)

/// The version as text.
#define QUORUMLOCK_VERSION "0.2.0"
