// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_clock.hpp"

#include <unistd.h>

#include <array>
#include <fstream>

namespace weft {

std::string host_clock_name() {
  std::string name;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  if (!std::getline(boot, name)) {
    std::array<char, 128> host{};
    (void)gethostname(host.data(), host.size() - 1);
    name = host.data();
  }
  std::array<char, 64> space{};
  // Kernels before 5.6 have no time namespaces: there is one clock.
  const ssize_t length = readlink("/proc/self/ns/time", space.data(), space.size());
  if (length > 0) name += ' ' + std::string(space.data(), static_cast<std::size_t>(length));
  return name;
}

}  // namespace weft
