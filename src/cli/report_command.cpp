// SPDX-License-Identifier: Apache-2.0
// weft report DIR
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "base/make_error.hpp"
#include "cli/commands.hpp"
#include "cli/output_directory.hpp"
#include "report/report.hpp"

namespace weft::cli {
namespace {

constexpr const char* examples =
    R"help(weft stream, weft simulate or weft qos wrote DIR with --out: it contains run.json, compare.json,
network.json or qos.json, or several of these. The report is one file, DIR/report.html, which any
browser shows without a network. The page about a simulated network is DIR/network.html, and the
one about an experiment with service levels is DIR/qos.html.

Examples:
  weft stream compare --schedules best-effort,offset,dfs --out out && weft report out
  weft simulate uniform --topology fat-tree:64 --out net && weft report net
  xdg-open "$(weft report out)"
)help";

Result<void> check_directory(const std::string& dir) {
  std::error_code error;
  if (std::filesystem::is_directory(dir, error)) return {};
  const bool exists = std::filesystem::exists(dir, error);
  return invalid("DIR: {} '{}'; name the directory that a command wrote with --out",
                 exists ? "this is a file:" : "there is no directory", dir);
}

}  // namespace

void add_report_command(CLI::App& root, Outcome& outcome) {
  CLI::App* command =
      root.add_subcommand("report", "Make an HTML report of the runs in a directory");
  const auto dir = std::make_shared<std::string>();
  command->add_option("DIR", *dir, "directory that a command wrote with --out")->required();
  const auto force = std::make_shared<bool>(false);
  add_force_option(*command, *force, "Options");
  command->footer(examples);
  command->callback([dir, force, &outcome] {
    auto good = check_directory(*dir);
    if (good.ok()) good = refuse_foreign_files(*dir, *force, "DIR", true);
    if (!good) return report_error(good.error(), outcome);
    const Result<std::string> path = report::write_report(*dir);
    if (path) {
      fmt::print("{}\n", *path);
    } else {
      report_error(path.error(), outcome);
    }
  });
}

}  // namespace weft::cli
