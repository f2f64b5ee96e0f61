// SPDX-License-Identifier: Apache-2.0
/* How much memory a process has. */
#pragma once

#include <stdio.h>

static long resident_kib(void) {
  char line[256];
  long kib = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "VmRSS: %ld", &kib);
  fclose(file);
  return kib;
}
