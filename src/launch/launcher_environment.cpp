// SPDX-License-Identifier: Apache-2.0
#include "launch/launcher_environment.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "process/job_link.hpp"
#include "process/outcome_memory.hpp"

extern char** environ;

namespace weft {

std::vector<std::pair<std::string, std::string>> environment_to_pass() {
  std::vector<std::pair<std::string, std::string>> passed;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const bool of_one_process = name == channel_variable || name == file_variable ||
                                name == rank_variable || name == launched_rank_variable ||
                                name == outcomes_variable;
    if (!name.starts_with("WEFT_") || of_one_process || equals == std::string_view::npos) continue;
    passed.emplace_back(name, text.substr(equals + 1));
  }
  return passed;
}

std::string own_path() {
  std::string path(4096, '\0');
  const auto n = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return n > 0 ? path : "weft";
}

std::string current_directory() {
  char* path = ::get_current_dir_name();
  const std::string text = path == nullptr ? "/" : path;
  std::free(path);
  return text;
}

}  // namespace weft
