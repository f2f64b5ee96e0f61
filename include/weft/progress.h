// SPDX-License-Identifier: Apache-2.0
// For C and C++ programs: marks the end of an iteration for a recorder or controller of the program
// (docs/traces.md). Costs a test of a pointer where there is none. Nothing to link with.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
extern void weft_progress_hook(void) __attribute__((weak));
#endif

/// Call it at the end of every iteration of the program's main loop, on every rank. One thread.
static inline void weft_mark_progress(void) {
#if defined(__GNUC__)
  if (weft_progress_hook) weft_progress_hook();
#endif
}

#ifdef __cplusplus
}
#endif
