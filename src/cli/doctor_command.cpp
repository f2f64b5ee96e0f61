// SPDX-License-Identifier: Apache-2.0
// weft doctor: this machine's RDMA adapters and settings, and the dangers among them.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/make_error.hpp"
#include "cli/commands.hpp"
#include "rdma/machine.hpp"

namespace weft::cli {
namespace {

struct DoctorCommand {
  std::string root = "/";
  bool json = false;
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

rdma::MachineSource source_of(const DoctorCommand& command) {
  rdma::MachineSource source;
  const std::string prefix = command.root == "/" ? "" : command.root;
  source.sys = prefix + "/sys";
  source.proc = prefix + "/proc";
  source.environment = variable;
  source.knows_locked_memory = prefix.empty();
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    source.locked_memory = limit.rlim_cur;
  }
  return source;
}

nlohmann::ordered_json to_json(const rdma::MachineReport& report) {
  auto devices = nlohmann::ordered_json::array();
  for (const rdma::RdmaDevice& d : report.devices) {
    devices.push_back({{"name", d.name},
                       {"model", d.model},
                       {"firmware", d.firmware},
                       {"ports", d.ports},
                       {"paging", d.has_paging},
                       {"damming", d.dams},
                       {"flood", d.floods}});
  }
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const auto& [name, value] : report.settings) settings[name] = value;
  auto notes = nlohmann::ordered_json::array();
  for (const rdma::MachineNote& n : report.notes) {
    notes.push_back({{"danger", n.is_danger}, {"what", n.what}, {"advice", n.advice}});
  }
  return {{"devices", devices}, {"settings", settings}, {"notes", notes}};
}

void print_text(const rdma::MachineReport& report) {
  for (const rdma::RdmaDevice& d : report.devices) {
    fmt::print("{}  {}{}\n", d.name, d.model,
               d.firmware.empty() ? "" : fmt::format(", firmware {}", d.firmware));
    for (const std::string& port : d.ports) fmt::print("  port {}\n", port);
  }
  for (const auto& [name, value] : report.settings) fmt::print("{} = {}\n", name, value);
  for (const rdma::MachineNote& n : report.notes) {
    fmt::print("{}: {}\n", n.is_danger ? "DANGER" : "note", n.what);
    if (!n.advice.empty()) fmt::print("  {}\n", n.advice);
  }
}

void run_doctor(const DoctorCommand& command, Outcome& outcome) {
  const rdma::MachineSource source = source_of(command);
  std::error_code error;
  if (!std::filesystem::is_directory(source.sys, error)) {
    return report_error(invalid("--root: there is no directory {}; copy a machine's "
                                "/sys/class/infiniband and /proc/sys there",
                                source.sys),
                        outcome);
  }
  const rdma::MachineReport report = rdma::inspect(source);
  if (command.json) {
    fmt::print("{}\n", to_json(report).dump(-1, ' ', false,
                                            nlohmann::ordered_json::error_handler_t::replace));
  } else {
    print_text(report);
  }
  for (const rdma::MachineNote& note : report.notes) {
    if (note.is_danger) outcome.code = ExitCode::failed;
  }
}

}  // namespace

void add_doctor_command(CLI::App& root, Outcome& outcome) {
  auto* doctor = root.add_subcommand(
      "doctor", "Show this machine's RDMA adapters and settings, and known dangers");
  auto state = std::make_shared<DoctorCommand>();
  doctor
      ->add_option("--root", state->root, "read DIR/sys and DIR/proc, copied from another machine")
      ->type_name("DIR")
      ->capture_default_str();
  doctor->add_flag("--json", state->json, "print one JSON object");
  doctor->footer(
      "The exit code is 1 when something is dangerous, 0 when nothing is.\n"
      "Examples:\n"
      "  weft doctor\n"
      "  weft doctor --json");
  doctor->callback([state, &outcome] { run_doctor(*state, outcome); });
}

}  // namespace weft::cli
