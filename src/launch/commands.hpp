// SPDX-License-Identifier: Apache-2.0
// Commands: what each rank of a job runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// Ranks that a job began with run one command; those that were started since, others.
class Commands {
 public:
  Commands(std::uint32_t ranks, std::vector<std::string> command) {
    add(ranks, std::move(command));
  }

  /// There are more ranks, and those from the last one so far on run `command`.
  void add(std::uint32_t ranks, std::vector<std::string> command) {
    programs_.push_back({ranks, std::move(command)});
  }
  std::uint32_t ranks() const { return programs_.back().end; }
  const std::vector<std::string>& of(std::uint32_t rank) const {
    return std::find_if(programs_.begin(), programs_.end(),
                        [&](const Program& each) { return rank < each.end; })
        ->command;
  }

 private:
  struct Program {
    std::uint32_t end = 0;  // behind the last rank
    std::vector<std::string> command;
  };
  std::vector<Program> programs_;  // in the order of ranks
};

}  // namespace weft
