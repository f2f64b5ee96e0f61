// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fabric/choice/fabric_choice.hpp"
#include "sim/network/options.hpp"
#include "stream/node/schedules.hpp"

namespace weft::cli {

Suggestions suggestions() {
  std::vector<std::string> fabrics;
  for (const std::string_view name : fabric_names()) {
    if (name.ends_with("PROVIDER")) continue;
    // A word in capitals is the user's.
    fabrics.emplace_back(name.substr(0, name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ")));
  }
  // A simulation has all nodes of a job in one process.
  std::vector<std::string> real_fabrics = fabrics;
  std::erase(real_fabrics, "sim:");
  std::vector<std::string> presets;
  for (const std::string_view name : sim::network_presets()) presets.emplace_back(name);
  std::vector<std::string> schedules;
  for (const std::string_view name : stream::schedule_names()) schedules.emplace_back(name);
  return {
      {"--fabric", fabrics},
      {"weft stream node --fabric", real_fabrics},
      {"--schedules", schedules},
      {"--source", {"pattern:", "file:", "tsa:", "msa:", "pcap:"}},
      {"--sink", {"check:", "null:", "tsa:", "file:", "exec:", "shm:"}},
      {"weft simulate uniform --topology", {"star:", "fat-tree:", "dragonfly:", "torus:", "file:"}},
      {"weft simulate uniform --router",
       {"d-mod-k", "adaptive", "minimal", "valiant", "ugal", "dimension-order", "shortest",
        "updown"}},
      {"weft simulate uniform --network", presets},
      {"weft simulate uniform --pattern", {"uniform", "permutation", "incast", "bursts"}}};
}

std::string fabric_list() {
  return fmt::format("{}", fmt::join(fabric_names(), ", "));
}

}  // namespace weft::cli
