// SPDX-License-Identifier: Apache-2.0
#include "rdma/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "rdma/sysfs.hpp"

namespace weft::rdma {
namespace {

namespace fs = std::filesystem;

struct Model {
  std::string_view type;  // hca_type of the driver
  std::string_view name;
  bool has_paging, dams, floods;
};
// Paper 2: Sections V-C, VI-A and IX. What it did not measure is taken for what came before it.
constexpr Model models[] = {
    {"MT4099", "ConnectX-3", false, false, false},
    {"MT4103", "ConnectX-3 Pro", false, false, false},
    {"MT4113", "Connect-IB", true, true, true},
    {"MT4115", "ConnectX-4", true, true, true},
    {"MT4117", "ConnectX-4 Lx", true, true, true},
    {"MT4119", "ConnectX-5", true, false, true},
    {"MT4121", "ConnectX-5 Ex", true, false, true},
    {"MT4123", "ConnectX-6", true, false, true},
    {"MT4125", "ConnectX-6 Dx", true, false, true},
    {"MT4127", "ConnectX-6 Lx", true, false, true},
    {"MT4129", "ConnectX-7", true, false, true},
};

RdmaDevice device_at(const fs::path& path) {
  RdmaDevice device;
  device.name = path.filename().string();
  device.model = line_of(path / "hca_type");
  device.firmware = line_of(path / "fw_ver");
  const auto* const known = std::find_if(std::begin(models), std::end(models),
                                         [&](const Model& m) { return m.type == device.model; });
  if (known != std::end(models)) {
    device.model = known->name;
    device.has_paging = known->has_paging;
    device.dams = known->dams;
    device.floods = known->floods;
  }
  if (device.model.empty()) device.model = "unknown";
  for (const fs::path& port : entries(path / "ports")) {
    std::string state = line_of(port / "state");
    if (const auto colon = state.find(": "); colon != std::string::npos) state.erase(0, colon + 2);
    device.ports.push_back(fmt::format("{}: {}, {}, {}", port.filename().string(), state,
                                       line_of(port / "rate"), line_of(port / "link_layer")));
  }
  return device;
}

bool is_on(const std::string& value) {
  return value == "1" || value == "y" || value == "yes" || value == "true" || value == "on";
}

class Inspection {
 public:
  explicit Inspection(const MachineSource& source) : source_(source) {}

  MachineReport run() {
    for (const fs::path& path : entries(fs::path(source_.sys) / "class/infiniband")) {
      report_.devices.push_back(device_at(path));
    }
    if (report_.devices.empty()) {
      note(false, fmt::format("no RDMA device below {}/class/infiniband", source_.sys), "");
    }
    look_at_paging();
    look_at_timers();
    look_at_kernel();
    look_at_limits();
    return std::move(report_);
  }

 private:
  void note(bool is_danger, std::string what, std::string advice) {
    report_.notes.push_back({is_danger, std::move(what), std::move(advice)});
  }
  std::optional<std::string> variable(const char* name) {
    const auto value = source_.environment ? source_.environment(name) : std::nullopt;
    if (value) report_.settings.emplace_back(name, *value);
    return value;
  }
  std::string kernel(const std::string& root, const char* path) {
    std::string value = line_of(fs::path(root) / path);
    if (!value.empty()) report_.settings.emplace_back(path, value);
    return value;
  }

  /// Which libraries page, and whether an adapter is here to which that is dangerous.
  void look_at_paging() {
    std::string by;
    const auto methods = variable("UCX_IB_REG_METHODS");
    if (methods && methods->find("odp") != std::string::npos) by = "UCX_IB_REG_METHODS=" + *methods;
    for (const char* name : {"FI_VERBS_USE_ODP", "MV2_USE_ODP"}) {
      const auto value = variable(name);
      if (value && is_on(*value)) by = fmt::format("{}={}", name, *value);
    }
    pages_ = !by.empty();
    for (const RdmaDevice& device : report_.devices) {
      if (!device.has_paging || (!device.dams && !device.floods)) continue;
      const char* pitfalls = device.dams ? "packet damming and packet flood" : "packet flood";
      if (pages_) {
        note(true,
             fmt::format("{}: {} pages on demand on {}, which has {}", by, device.name,
                         device.model, pitfalls),
             "pin the memory (UCX_IB_REG_METHODS=rcache,direct, FI_VERBS_USE_ODP=0, "
             "MV2_USE_ODP=0), or prefetch it (ibv_advise_mr)");
      } else {
        note(false,
             fmt::format("{} ({}) has {} when memory is paged on demand", device.name, device.model,
                         pitfalls),
             "keep memory pinned, or prefetch it");
      }
    }
  }

  void look_at_timers() {
    const auto code = variable("FI_VERBS_MIN_RNR_TIMER");
    if (code && *code == "0") {
      note(true, "FI_VERBS_MIN_RNR_TIMER=0: the longest wait, 655.36 ms, not the shortest",
           "set 1 for the shortest, 12 for libfabric's own");
    }
    const auto delay = variable("UCX_RC_RNR_TIMEOUT");
    if (delay && (*delay == "0" || *delay == "0us" || *delay == "0ms")) {
      note(true,
           fmt::format("UCX_RC_RNR_TIMEOUT={}: code 0 is the longest wait, 655.36 ms", *delay),
           "set 10us or 1ms");
    }
    variable("UCX_RC_TIMEOUT");
    variable("UCX_RC_RETRY_COUNT");
  }

  /// Kernel settings that take pages away from adapters.
  void look_at_kernel() {
    const std::string balancing = kernel(source_.proc, "sys/kernel/numa_balancing");
    const std::string merging = kernel(source_.sys, "kernel/mm/ksm/run");
    const std::string huge = kernel(source_.sys, "kernel/mm/transparent_hugepage/enabled");
    const bool has_paging = std::any_of(report_.devices.begin(), report_.devices.end(),
                                        [](const RdmaDevice& d) { return d.has_paging; });
    const bool danger = pages_ && has_paging;
    if (!has_paging) return;
    if (balancing != "" && balancing != "0") {
      note(danger,
           fmt::format("kernel.numa_balancing={}: invalidates pages of paged memory", balancing),
           "sysctl kernel.numa_balancing=0 where memory is paged on demand");
    }
    if (merging == "1") {
      note(danger, "/sys/kernel/mm/ksm/run=1: merges, and so invalidates, pages of paged memory",
           "echo 0 > /sys/kernel/mm/ksm/run where memory is paged on demand");
    }
    if (huge.find("[always]") != std::string::npos) {
      note(false, "transparent_hugepage=always: collapsing small pages invalidates them", "");
    }
  }

  void look_at_limits() {
    constexpr std::uint64_t little = std::uint64_t{64} << 20;
    report_.settings.emplace_back(
        "locked memory", source_.locked_memory ? fmt::format("{} bytes", *source_.locked_memory)
                                               : std::string("unlimited"));
    if (!source_.locked_memory || *source_.locked_memory >= little || report_.devices.empty())
      return;
    note(true,
         fmt::format("locked memory is limited to {} bytes: pinning fails", *source_.locked_memory),
         "ulimit -l unlimited, or memlock in /etc/security/limits.conf");
  }

  const MachineSource& source_;
  MachineReport report_;
  bool pages_ = false;
};

}  // namespace

MachineReport inspect(const MachineSource& source) {
  return Inspection(source).run();
}

}  // namespace weft::rdma
