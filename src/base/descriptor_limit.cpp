// SPDX-License-Identifier: Apache-2.0
#include "base/descriptor_limit.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/log.hpp"
#include "base/make_error.hpp"

namespace weft {

std::uint64_t most_descriptors() {
  struct rlimit limit {};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  return is_known ? limit.rlim_max : std::numeric_limits<std::uint64_t>::max();
}

void raise_descriptor_limit(std::uint64_t needed) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  [[maybe_unused]] const int ignored = ::setrlimit(RLIMIT_NOFILE, &limit);
}

Error too_few_descriptors(std::string_view job, std::uint64_t needed, std::uint64_t most,
                          std::string_view fewer) {
  return invalid(
      "{}: a process needs {} file descriptors and may have {}; use fewer {}, or raise ulimit -n",
      job, needed, most, fewer);
}

Result<void> allow_descriptors(std::string_view job, std::uint64_t needed, std::string_view fewer) {
  const std::uint64_t most = most_descriptors();
  if (needed > most) return too_few_descriptors(job, needed, most, fewer);
  raise_descriptor_limit(needed);
  return {};
}

bool lacks_descriptors(int number) {
  return number == EMFILE || number == ENFILE;
}

void tell_of_lacking_descriptors(std::string_view who, int number) {
  static std::atomic<bool> told = false;
  if (!lacks_descriptors(number) || told.exchange(true)) return;
  spdlog::error("{}: {}; what waits for a connection waits until a descriptor is free; {}", who,
                std::strerror(number), raise_open_files);
}

}  // namespace weft
