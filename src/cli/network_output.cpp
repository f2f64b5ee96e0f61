// SPDX-License-Identifier: Apache-2.0
#include "cli/network_output.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/output_directory.hpp"
#include "cli/stream_output.hpp"

namespace weft::cli {
namespace {

/// "out/trace.json" of the run "grant": "out/trace-grant.json".
std::string path_for(const std::string& path, const std::string& name) {
  if (name.empty()) return path;
  const std::filesystem::path whole(path);
  const std::string file = whole.stem().string() + "-" + name + whole.extension().string();
  return (whole.parent_path() / file).string();
}

}  // namespace

void add_trace_options(CLI::App& command, TraceSettings& settings) {
  command
      .add_option("--trace", settings.path,
                  "trace of a simulation with every packet, message and queue, for ui.perfetto.dev")
      ->type_name("FILE")
      ->group("Output");
  command
      .add_option("--trace-events", settings.most_events,
                  "most events that the trace has, about 110 bytes each")
      ->type_name("UINT")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->each([&settings](const std::string&) { settings.limits_events = true; })
      ->group("Output")
      ->capture_default_str();
}

Result<void> check_trace_in_parts(const TraceSettings& settings, std::uint32_t parts) {
  if (parts == 1 || settings.path.empty()) return {};
  return invalid(
      "--trace: {}: a simulation in {} parts has none; start one process without --parts",
      settings.path, parts);
}

Result<void> NetworkOutput::check(std::span<const std::string> names, CommandFiles others) const {
  if (settings_.path.empty() && settings_.limits_events) {
    return invalid("--trace-events: means nothing without --trace FILE");
  }
  if (settings_.path.empty()) return {};
  others.directories.push_back(out_);
  static const std::string only;
  if (names.empty()) names = std::span(&only, 1);
  for (const std::string& name : names) {
    const std::string path = path_for(settings_.path, name);
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      return invalid("--trace: {} is a directory; name a file in it", path);
    }
    if (auto good = refuse_other_files("--trace", path, others); !good) return good;
    if (settings_.replaces || !std::filesystem::is_regular_file(path, error)) continue;
    return invalid("--trace: {} exists already; name another file, or replace it with --force",
                   path);
  }
  return {};
}

Result<sim::NetworkRecording*> NetworkOutput::begin(const std::string& name) {
  if (!wanted()) return nullptr;
  name_ = name;
  recording_ = {};
  trace_.reset();
  if (!settings_.path.empty()) {
    auto file = sim::TraceFile::create(path_for(settings_.path, name), settings_.most_events,
                                       settings_.replaces ? Existing::replace : Existing::refuse);
    if (!file) return of_option("--trace", file.error());
    trace_.emplace(std::move(file).value());
    recording_.trace = &*trace_;
  }
  return &recording_;
}

Result<void> NetworkOutput::end() {
  if (!wanted()) return {};
  if (recording_.run.links.empty()) return {};  // no simulation, or a divided one
  recording_.run.name = name_;
  topology_ = std::move(recording_.topology);
  runs_.push_back(std::move(recording_.run));
  if (!trace_) return {};
  const auto cut_at = trace_->cut_at();
  const std::uint64_t events = trace_->events();
  const std::string path = trace_->path();
  const Result<void> finished = trace_->finish();
  trace_.reset();
  if (!finished) return of_option("--trace", finished.error());
  if (cut_at) {
    print_error(fmt::format(
        "--trace: '{}' has {} events, and lacks those from {} on; raise --trace-events, a tenth of "
        "which is kept for timeslices",
        path, events, to_text(Duration((*cut_at - PicoInstant()).to_nanoseconds()))));
  }
  if (!quiet_) fmt::print("{}: {} events of the simulation\n", path, events);
  return {};
}

Result<void> NetworkOutput::write(report::NetworkRecord about) {
  if (out_.empty()) return {};
  if (runs_.empty()) {
    forget_record(out_, "network.json", settings_.replaces);
    forget_record(out_, "network.html", settings_.replaces);
    return {};
  }
  // Runs differ in their schedules, which are their names.
  if (runs_.size() > 1) {
    std::erase_if(about.parameters, [](const auto& p) { return p.first == "schedule"; });
  }
  about.version = WEFT_VERSION;
  about.topology = std::move(topology_);
  about.runs = std::move(runs_);
  if (auto written = report::write_network(out_, about); !written) {
    return of_option("--out", written.error());
  }
  return {};
}

}  // namespace weft::cli
