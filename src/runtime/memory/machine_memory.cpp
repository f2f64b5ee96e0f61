// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/machine_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>

namespace weft {

ByteCount memory_of_this_machine() {
  const std::uint64_t bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                              static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t limit = 0;  // the file may also have the word "max"
  std::ifstream file("/sys/fs/cgroup/memory.max");
  return ByteCount(file >> limit ? std::min(bytes, limit) : bytes);
}

}  // namespace weft
