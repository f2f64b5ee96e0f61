// SPDX-License-Identifier: Apache-2.0
// How often messages of a size are sent: the same for weft's program and for MPI's, which is C.
#pragma once

#include <stddef.h>

enum { kPlanBatches = 15 };

static inline long plan_clamp(double value, long low, long high) {
  if (value < (double)low) return low;
  return value > (double)high ? high : (long)value;
}

// Rounds of a batch: about 15 ms of them, by a guess at the time of a round.
static inline long plan_rounds(size_t bytes) {
  return plan_clamp(15e-3 / (3e-6 + (double)bytes / 3e9), 1, 5000);
}

// Batches that count; before them goes one that does not. Fewer where one round takes long.
static inline int plan_batches(size_t bytes) {
  return bytes > ((size_t)64 << 20) ? 5 : kPlanBatches;
}

// Messages that are under way at once when bandwidth is measured.
static inline int plan_window(size_t bytes) {
  return (int)plan_clamp((double)((size_t)64 << 20) / (double)(bytes + 1), 1, 16);
}

// Windows of a batch.
static inline long plan_windows(size_t bytes) {
  return plan_clamp((double)plan_rounds(bytes) / plan_window(bytes), 1, 400);
}
