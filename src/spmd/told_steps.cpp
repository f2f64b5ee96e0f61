// SPDX-License-Identifier: Apache-2.0
#include "spmd/told_steps.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "base/whole_file.hpp"

namespace weft::spmd {

// A line with the run; then one for each place: the place and the steps.
ToldSteps::ToldSteps(std::string path, std::string_view run) : path_(std::move(path)), run_(run) {
  std::ifstream file(path_);
  std::string line;
  if (!std::getline(file, line) || line != run_) return;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::uint64_t place = 0, step = 0;
    if (!(words >> place)) continue;
    std::vector<std::uint64_t>& steps = told_[place];
    while (words >> step) steps.push_back(step);
  }
}

std::optional<std::vector<std::uint64_t>> ToldSteps::at(std::uint64_t place) const {
  const auto found = told_.find(place);
  if (found == told_.end()) return std::nullopt;
  return found->second;
}

Result<void> ToldSteps::add(std::uint64_t place, std::vector<std::uint64_t> steps) {
  told_[place] = std::move(steps);
  std::string text = run_ + "\n";
  for (const auto& [at, all] : told_) {
    text += std::to_string(at);
    for (const std::uint64_t step : all) text += fmt::format(" {}", step);
    text += "\n";
  }
  auto file = WholeFile::create(path_);
  if (!file.ok()) return file.error();
  auto written = file->write(text);
  return written.ok() ? file->commit() : std::move(written);
}

}  // namespace weft::spmd
