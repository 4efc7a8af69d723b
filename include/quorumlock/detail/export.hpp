#pragma once

#if !defined(__cpp_exceptions)
#error "quorumlock's headers throw and catch exceptions: compile without -fno-exceptions"
#endif

/// Marks what the shared library exports; everything else in it is hidden. For a static library,
/// CMake's target and pkg-config define QUORUMLOCK_STATIC and the macro is empty: a program or
/// library that contains the static library decides itself whether to export it again.
#ifdef QUORUMLOCK_STATIC
#define QUORUMLOCK_EXPORT
#else
#define QUORUMLOCK_EXPORT __attribute__((visibility("default")))
#endif
