// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks_table.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/terminal.hpp"

namespace weft::cli {

void print_ranks_jobs(const std::vector<std::string>& jobs) {
  if (jobs.empty()) return;
  Table table(
      {"job", "pattern or trace", "level", "ranks", "iterations", "bytes", "time", "waiting"});
  for (const std::string& object : jobs) {
    const auto job = nlohmann::json::parse(object);
    const auto text = [&job](const char* key) { return job.at(key).get<std::string>(); };
    const auto count = [&job](const char* key) {
      return fmt::format("{}", job.at(key).get<std::uint64_t>());
    };
    const double elapsed_s = job.at("elapsed_s").get<double>();
    const double all = elapsed_s * job.at("ranks").get<double>();
    const double waited = all > 0 ? 100 * job.at("waited_s").get<double>() / all : 0;
    table.add({text("name"), text(job.contains("file") ? "file" : "pattern"), count("level"),
               count("ranks"), count("least_iterations"), count("bytes"),
               to_text(Duration(static_cast<std::int64_t>(elapsed_s * 1e9))),
               fmt::format("{:.1f} %", waited)});
  }
  table.print();
}

}  // namespace weft::cli
