// SPDX-License-Identifier: Apache-2.0
#include "rdma/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/units.hpp"
#include "rdma/sysfs.hpp"
#include "wire/capture/infiniband.hpp"

namespace weft::rdma {
namespace {

namespace fs = std::filesystem;

struct Model {
  std::string_view type;  // hca_type of the driver
  std::string_view name;
  bool has_paging, dams, floods;
};
// Paper 2: Sections V-C, VI-A and IX. A model that it did not measure counts as its predecessor.
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
  device.name = name_of(path);
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
    device.ports.push_back(fmt::format("{}: {}, {}, {}", name_of(port), state,
                                       line_of(port / "rate"), line_of(port / "link_layer")));
  }
  return device;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// As libfabric, UCX and MVAPICH read it: words in any case, or a number that is not 0.
bool is_on(const std::string& value) {
  const std::string word = lower(value);
  for (const char* yes : {"y", "yes", "true", "on"}) {
    if (word == yes) return true;
  }
  return std::strtol(word.c_str(), nullptr, 0) != 0;
}

bool names_paging(const std::string& list) {
  return lower(list).find("odp") != std::string::npos;
}

bool names_memory(const std::string& list) {
  return !list.empty() && lower(list) != "none";
}

/// Variables by which libraries register memory for on-demand paging.
struct PagingVariable {
  const char* name;
  bool (*pages)(const std::string& value);
};
constexpr PagingVariable paging_variables[] = {
    {"UCX_IB_REG_METHODS", names_paging},
    {"UCX_REG_NONBLOCK_MEM_TYPES", names_memory},
    {"FI_VERBS_USE_ODP", is_on},
    {"MV2_USE_ODP", is_on},
    {"GASNET_USE_ODP", is_on},
};

/// Seconds, as UCX reads a time: without a unit they are seconds, and "m" is minutes.
std::optional<double> ucx_seconds(const std::string& text) {
  if (lower(text) == "inf") return std::numeric_limits<double>::infinity();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value >= 0)) return std::nullopt;
  const std::string unit = end;
  constexpr std::pair<std::string_view, double> units[] = {
      {"", 1}, {"s", 1}, {"m", 60}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
  for (const auto& [name, seconds] : units) {
    if (unit == name) return value * seconds;
  }
  return std::nullopt;
}

/// The code of min_rnr_timer that UCX takes for a time: the nearest one. 0, the longest, stands for
/// times longer than the others.
std::uint8_t ucx_rnr_code(double seconds) {
  const double ns = seconds * 1e9;
  for (std::uint8_t code = 1; code < 32; ++code) {
    const auto next = static_cast<std::uint8_t>((code + 1) % 32);
    const auto here = static_cast<double>(wire::rnr_timer_ns[code]);
    const auto above = static_cast<double>(wire::rnr_timer_ns[next]);
    if (ns <= above) return ns < (here + above) / 2 ? code : next;
  }
  return 0;
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

  /// Notes the libraries that page, and adapters here to which that is dangerous.
  void look_at_paging() {
    std::string by;
    for (const PagingVariable& paging : paging_variables) {
      const auto value = variable(paging.name);
      if (!value || !paging.pages(*value)) continue;
      by += fmt::format("{}{}={}", by.empty() ? "" : ", ", paging.name, *value);
    }
    pages_ = !by.empty();
    if (pages_ && report_.devices.empty()) {
      note(false, fmt::format("{}: turns paging on, where there is no RDMA device to page", by),
           "unset it, or run weft doctor on a host that has the adapters the program will use");
    }
    for (const RdmaDevice& device : report_.devices) {
      if (!device.has_paging || (!device.dams && !device.floods)) continue;
      const char* pitfalls = device.dams ? "packet damming and packet flood" : "packet flood";
      if (pages_) {
        note(true,
             fmt::format("{}: {} pages on demand on {}, which has {}", by, device.name,
                         device.model, pitfalls),
             "pin the memory (UCX_IB_REG_METHODS=rcache,direct and no UCX_REG_NONBLOCK_MEM_TYPES, "
             "FI_VERBS_USE_ODP=0, MV2_USE_ODP=0, GASNET_USE_ODP=0), or prefetch it "
             "(ibv_advise_mr)");
      } else {
        note(false,
             fmt::format("{} ({}) has {} when memory is paged on demand", device.name, device.model,
                         pitfalls),
             "keep memory pinned, or prefetch it");
      }
    }
  }

  void look_at_timers() {
    if (const auto text = variable("FI_VERBS_MIN_RNR_TIMER")) {
      char* end = nullptr;
      const long code = std::strtol(text->c_str(), &end, 0);
      if (end == text->c_str() || *end != 0 || code < 0 || code > 31) {
        note(false, fmt::format("FI_VERBS_MIN_RNR_TIMER={}: no code from 0 to 31", *text),
             "set 1 for the shortest wait, 12 for libfabric's own");
      } else {
        look_at_rnr("FI_VERBS_MIN_RNR_TIMER=" + *text, static_cast<std::uint8_t>(code),
                    "set 1 for the shortest wait, 12 for libfabric's own");
      }
    }
    for (const char* name : {"UCX_RC_RNR_TIMEOUT", "UCX_RC_VERBS_RNR_TIMEOUT",
                             "UCX_RC_MLX5_RNR_TIMEOUT", "UCX_DC_MLX5_RNR_TIMEOUT"}) {
      const auto text = variable(name);
      if (!text) continue;
      const auto seconds = ucx_seconds(*text);
      if (!seconds) {
        note(false, fmt::format("{}={}: UCX reads no time in it", name, *text), "set 10us or 1ms");
        continue;
      }
      look_at_rnr(fmt::format("{}={}", name, *text), ucx_rnr_code(*seconds),
                  "set 10us or 1ms; a number without a unit is seconds");
    }
    variable("UCX_RC_TIMEOUT");
    variable("UCX_RC_RETRY_COUNT");
  }

  void look_at_rnr(const std::string& setting, std::uint8_t code, const char* advice) {
    constexpr std::int64_t long_ns = 100'000'000;
    const std::int64_t wait = wire::rnr_timer_ns[code];
    if (wait < long_ns) return;
    note(true,
         fmt::format("{}: a sender waits {} or longer after each RNR NAK{}", setting,
                     weft::to_text(Duration(wait)),
                     code == 0 ? "; code 0 is the longest wait, not the shortest" : ""),
         advice);
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
    if (!source_.knows_locked_memory) return;
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
