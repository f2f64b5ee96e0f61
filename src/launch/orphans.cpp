// SPDX-License-Identifier: Apache-2.0
#include "launch/orphans.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "process/job_link.hpp"

namespace weft {
namespace {

/// Empty where the kernel does not tell.
std::vector<pid_t> children() {
  std::ifstream file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  return {std::istream_iterator<pid_t>(file), {}};
}

/// By the variable that the launcher has set for the rank, which its children inherit.
bool is_of(pid_t process, std::optional<std::uint32_t> rank) {
  std::ifstream file(fmt::format("/proc/{}/environ", process));
  const std::string begins = fmt::format("{}=", launched_rank_variable);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (!entry.starts_with(begins)) continue;
    return !rank || entry.substr(begins.size()) == std::to_string(*rank);
  }
  return false;
}

}  // namespace

Orphans::Orphans() : others_(children()) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void Orphans::end(const ProcessSet& ranks, std::optional<std::uint32_t> rank) const {
  // An orphan's children become orphans by its end.
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const pid_t process : children()) {
      const bool is_other = std::find(others_.begin(), others_.end(), process) != others_.end();
      if (is_other || ranks.has(process) || !is_of(process, rank)) continue;
      ::kill(process, SIGKILL);
      goes_on = ::waitpid(process, nullptr, 0) == process || goes_on;
    }
  }
}

}  // namespace weft
