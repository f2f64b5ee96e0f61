// SPDX-License-Identifier: Apache-2.0
#include "launch/admission.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/descriptor_limit.hpp"
#include "fabric/choice/fabric_choice.hpp"
#include "process/spill_memory.hpp"

namespace weft {
namespace {

/// The launcher's own, and those that it has inherited.
constexpr std::uint64_t descriptors_of_launcher = 32;
/// A channel; for later lives also what a rank prints and the outcomes that it keeps.
constexpr std::uint64_t descriptors_per_rank = 1;
constexpr std::uint64_t descriptors_per_restarted_rank = 3;
/// While one is connected again, the old pipe is there too.
constexpr std::uint64_t descriptors_per_host = 3;

/// Ranks that a rank has a connection to. Providers of libfabric that are no host's network have
/// none.
std::uint64_t connected(const LaunchOptions& options, std::uint64_t ranks) {
  if (options.fabric.starts_with("libfabric:") && !listens_at_address(options.fabric)) return 0;
  const bool is_limited = options.fabric.starts_with("tcp") && options.connections > 0;
  return is_limited ? std::min<std::uint64_t>(ranks, options.connections) : ranks;
}

}  // namespace

std::uint64_t descriptors_needed(const LaunchOptions& options, std::uint32_t ranks) {
  if (!options.hosts.empty()) {
    return descriptors_of_launcher + descriptors_per_host * options.hosts.size();
  }
  const std::uint64_t each =
      options.restart ? descriptors_per_restarted_rank : descriptors_per_rank;
  return std::max(descriptors_of_launcher + each * ranks,
                  descriptors_of_rank(connected(options, ranks)));
}

Result<void> allow_ranks(const LaunchOptions& options, std::uint32_t ranks) {
  const bool is_here = options.hosts.empty();
  return allow_descriptors(is_here ? fmt::format("-n {} --fabric {}", ranks, options.fabric)
                                   : fmt::format("--hosts: {} hosts", options.hosts.size()),
                           descriptors_needed(options, ranks), is_here ? "processes" : "hosts");
}

Result<void> admit(const LaunchOptions& options) {
  if (auto allowed = allow_ranks(options, options.processes); !allowed || !options.hosts.empty()) {
    return allowed;
  }
  const auto spill = SpillMemory::open(ByteCount(0), options.spill);
  if (!spill) return spill.error();
  return {};
}

}  // namespace weft
