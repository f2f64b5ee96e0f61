// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/machine_parts.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <fstream>
#include <string>

#include "base/number_text.hpp"
#include "base/split.hpp"
#include "runtime/cores.hpp"

namespace weft::mpi {
namespace {

using abi::MachinePart;

constexpr const char* system_folder = "/sys/devices/system";

/// Empty: there is no such file.
std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

/// The list of the processors that share a cache of that level with this one.
std::string sharers_of_cache(const std::string& processor, const char* level) {
  constexpr int most_caches = 16;
  for (int i = 0; i < most_caches; ++i) {
    const std::string cache = fmt::format("{}/cache/index{}", processor, i);
    if (first_line(cache + "/level") == level && first_line(cache + "/type") != "Instruction") {
      return first_line(cache + "/shared_cpu_list");
    }
  }
  return {};
}

/// The processors of a list such as "0-3,8".
cpu_set_t processors_in(const std::string& list) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const std::string_view range : split(list, ',')) {
    const auto ends = split(range, '-');
    const auto first = parse_number<std::size_t>(ends.front());
    const auto last = parse_number<std::size_t>(ends.back());
    if (!first || !last) continue;
    for (std::size_t i = *first; i <= *last && i < CPU_SETSIZE; ++i) CPU_SET(i, &all);
  }
  return all;
}

std::string sharers_of_memory(int processor) {
  constexpr int most_memories = 1024;
  for (int i = 0; i < most_memories; ++i) {
    const std::string list = first_line(fmt::format("{}/node/node{}/cpulist", system_folder, i));
    const cpu_set_t processors = processors_in(list);
    if (CPU_ISSET(processor, &processors)) return list;
  }
  return {};
}

std::string sharers_of(MachinePart part, int number) {
  const std::string processor = fmt::format("{}/cpu/cpu{}", system_folder, number);
  switch (part) {
    case MachinePart::thread:
      return std::to_string(number);
    case MachinePart::core:
      return first_line(processor + "/topology/thread_siblings_list");
    case MachinePart::cache_1:
      return sharers_of_cache(processor, "1");
    case MachinePart::cache_2:
      return sharers_of_cache(processor, "2");
    case MachinePart::cache_3:
      return sharers_of_cache(processor, "3");
    case MachinePart::socket:
      return first_line(processor + "/topology/core_siblings_list");
    case MachinePart::memory:
      return sharers_of_memory(number);
    default:
      return {};
  }
}

}  // namespace

std::optional<int> own_part(MachinePart part) {
  cpu_set_t allowed, common;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return std::nullopt;
  const cpu_set_t sharers = processors_in(sharers_of(part, core_of(allowed, 0)));
  CPU_AND(&common, &allowed, &sharers);
  if (CPU_EQUAL(&common, &allowed) == 0) return std::nullopt;
  return core_of(sharers, 0);
}

}  // namespace weft::mpi
