// SPDX-License-Identifier: Apache-2.0
#include "cli/output_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/existing_file.hpp"
#include "base/make_error.hpp"
#include "cli/output_directory.hpp"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

/// Whether both names are one file's, also of a file that is not there yet.
bool are_same(const std::string& one, const std::string& other) {
  std::error_code error;
  return fs::equivalent(one, other, error) || entry_of(one) == entry_of(other);
}

}  // namespace

std::vector<std::string> files_of(const sim::Scenario& scenario) {
  std::vector<std::string> files{scenario.name};
  const fs::path directory = fs::path(scenario.name).parent_path();
  for (const auto& entry : scenario.entries) {
    // "file:cables.txt" is a topology.
    const std::size_t colon = entry.value.rfind("file:", 0) == 0 ? 5 : 0;
    const fs::path named = directory / entry.value.substr(colon);
    std::error_code error;
    if (fs::is_regular_file(named, error)) files.push_back(named.string());
  }
  return files;
}

Result<void> refuse_other_files(std::string_view option, const std::string& path,
                                const CommandFiles& others) {
  if (auto good = refuse_own_input(others.read, path); !good) {
    return of_option(option, good.error());
  }
  const bool is_taken =
      std::ranges::any_of(others.written,
                          [&](const std::string& other) { return are_same(path, other); }) ||
      std::ranges::any_of(others.directories, [&](const std::string& directory) {
        return is_record_in(directory, path) ||
               (!directory.empty() && canonical(directory) == canonical(path));
      });
  if (!is_taken) return {};
  return invalid("{}: this command writes another output to '{}'; name another file", option, path);
}

}  // namespace weft::cli
