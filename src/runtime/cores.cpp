// SPDX-License-Identifier: Apache-2.0
#include "runtime/cores.hpp"

#include <unistd.h>

#include <algorithm>

namespace weft {
namespace {

/// Zero is this thread.
std::uint32_t cores_of(pid_t process) {
  cpu_set_t allowed;
  if (::sched_getaffinity(process, sizeof allowed, &allowed) != 0) return 1;
  return static_cast<std::uint32_t>(CPU_COUNT(&allowed));
}

}  // namespace

std::uint32_t allowed_cores() {
  return cores_of(0);
}

std::uint32_t cores_of_job() {
  return std::max(cores_of(0), cores_of(::getppid()));
}

int core_of(const cpu_set_t& cores, std::uint64_t number) {
  int core = 0;
  while (!CPU_ISSET(core, &cores) || number-- > 0) ++core;
  return core;
}

void move_to_core(int core, const cpu_set_t& allowed) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (::sched_setaffinity(0, sizeof one, &one) == 0) {
    (void)::sched_setaffinity(0, sizeof allowed, &allowed);
  }
}

}  // namespace weft
