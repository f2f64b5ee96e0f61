// SPDX-License-Identifier: Apache-2.0
// Cores: which ones this thread may use, and moves between them.
#pragma once

#include <sched.h>

#include <cstdint>

namespace weft {

/// How many cores this thread may use.
std::uint32_t allowed_cores();

/// How many cores the processes of a job may use together on this machine: those of the process
/// that started this one, because each of a job's processes may be bound to a few of them.
std::uint32_t cores_of_job();

/// The core of that number among `cores`, which are more.
int core_of(const cpu_set_t& cores, std::uint64_t number);

/// Tells the core that this thread looks at memory again and again until another core changes it.
inline void relax_core() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Moves the calling thread to that core, one of `allowed`, which are all that it may use. It is
/// bound to the core for this moment only. Takes some microseconds.
void move_to_core(int core, const cpu_set_t& allowed);

}  // namespace weft
