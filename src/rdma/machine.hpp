// SPDX-License-Identifier: Apache-2.0
// A machine's RDMA adapters and settings, and which of them are dangerous together with on-demand
// paging.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::rdma {

/// The file trees to read; tests have their own.
struct MachineSource {
  std::string sys = "/sys";
  std::string proc = "/proc";
  /// Looks up a variable of the environment; none: not set.
  std::function<std::optional<std::string>(const char* name)> environment;
  /// RLIMIT_MEMLOCK, bytes; none: unlimited.
  std::optional<std::uint64_t> locked_memory;
  bool knows_locked_memory = true;  ///< of another machine it is not known
};

struct RdmaDevice {
  std::string name;                ///< "mlx5_0"
  std::string model;               ///< "ConnectX-4"; as the driver says it when that is not known
  std::string firmware;            ///< may be empty
  std::vector<std::string> ports;  ///< "1: ACTIVE, 100 Gb/sec (4X EDR), InfiniBand"
  bool has_paging = false;         ///< on-demand paging, as far as the model tells
  bool dams = false;               ///< loses requests that are posted in a wait (paper 2)
  bool floods = false;             ///< tells requests late that a page has come (paper 2)
};

struct MachineNote {
  bool is_danger = false;
  std::string what;    ///< names the setting and its value
  std::string advice;  ///< the change to make; empty: none
};

struct MachineReport {
  std::vector<RdmaDevice> devices;
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<MachineNote> notes;
};

MachineReport inspect(const MachineSource& source);

}  // namespace weft::rdma
