// SPDX-License-Identifier: Apache-2.0
#include "rdma/live_counters.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "rdma/sysfs.hpp"

namespace weft::rdma {
namespace {

namespace fs = std::filesystem;
using Member = std::uint64_t DeviceCounters::*;

struct Name {
  std::string_view name;
  Member member;
};
// mlx5 and newer bnxt_re; older bnxt_re; rxe; irdma.
constexpr Name port_counters[] = {
    {"local_ack_timeout_err", &DeviceCounters::timeouts},
    {"to_retransmits", &DeviceCounters::timeouts},
    {"completer_retry_err", &DeviceCounters::timeouts},
    {"packet_seq_err", &DeviceCounters::sequence_naks},
    {"implied_nak_seq_err", &DeviceCounters::sequence_naks},
    {"seq_err_naks_rcvd", &DeviceCounters::sequence_naks},
    {"missing_resp", &DeviceCounters::sequence_naks},
    {"rcvd_seq_err", &DeviceCounters::sequence_naks},
    {"rnr_nak_retry_err", &DeviceCounters::rnr_naks},
    {"rnr_naks_rcvd", &DeviceCounters::rnr_naks},
    {"rcvd_rnr_err", &DeviceCounters::rnr_naks},
    {"req_transport_retries_exceeded", &DeviceCounters::retries_exceeded},
    {"max_retry_exceeded", &DeviceCounters::retries_exceeded},
    {"retry_exceeded_err", &DeviceCounters::retries_exceeded},
    {"duplicate_request", &DeviceCounters::duplicates},
    {"dup_req", &DeviceCounters::duplicates},
    {"out_of_sequence", &DeviceCounters::out_of_sequence},
    {"out_of_seq_request", &DeviceCounters::out_of_sequence},
    {"tcpRetransSegs", &DeviceCounters::retransmissions},
    {"RetransSegs", &DeviceCounters::retransmissions},
};
constexpr Name region_counters[] = {
    {"page_faults", &DeviceCounters::page_faults},
    {"page_invalidations", &DeviceCounters::page_invalidations},
};
/// More duplicates in a second than timeouts or lost ACKs make.
constexpr double flood_per_s = 1'000;

constexpr std::string_view region = "region ";

bool is_of_region(const std::string& name) {
  return name.starts_with(region);
}

bool has_regions(const MachineReadings& readings) {
  return std::any_of(readings.begin(), readings.end(), [](const auto& device) {
    return std::any_of(device.second.begin(), device.second.end(),
                       [](const auto& reading) { return is_of_region(reading.first); });
  });
}

}  // namespace

MachineReadings read_counters(const std::string& sys) {
  MachineReadings all;
  for (const fs::path& device : entries(fs::path(sys) / "class/infiniband")) {
    DeviceReadings& readings = all[name_of(device)];
    for (const fs::path& port : entries(device / "ports")) {
      for (const Name& name : port_counters) {
        const auto value = number_in(port / "hw_counters" / name.name);
        if (!value) continue;
        readings[port.filename().string() + ' ' + std::string(name.name)] = {name.member, *value};
      }
    }
  }
  return all;
}

void add_region_statistics(std::string_view printed, MachineReadings& readings) {
  std::string device, number;
  std::string_view before;
  while (!printed.empty()) {
    const std::size_t start = printed.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return;
    printed.remove_prefix(start);
    const std::string_view word = printed.substr(0, printed.find_first_of(" \t\r\n"));
    printed.remove_prefix(word.size());
    if (before == "dev" || before == "link") {
      device = std::string(word.substr(0, word.find('/')));
    }
    if (before == "mrn") number = std::string(word);
    for (const Name& name : region_counters) {
      if (before != name.name || device.empty()) continue;
      std::uint64_t value = 0;
      const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
      if (read.ec != std::errc()) continue;
      CounterReading& reading =
          readings[device][std::string(region) + number + ' ' + std::string(name.name)];
      reading = {name.member, reading.value + value};
    }
    before = word;
  }
}

DeviceCounters total(const DeviceReadings& readings) {
  DeviceCounters sum;
  for (const auto& [name, reading] : readings) sum.*reading.meaning += reading.value;
  return sum;
}

DeviceCounters changes(const DeviceReadings& before, const DeviceReadings& now) {
  DeviceCounters change;
  for (const auto& [name, reading] : now) {
    const auto found = before.find(name);
    if (found == before.end()) continue;
    const std::uint64_t from = found->second.value, to = reading.value;
    change.*reading.meaning += to >= from ? to - from : to;
  }
  return change;
}

std::map<std::string, DeviceCounters> CounterWatch::look(const MachineReadings& now) {
  std::map<std::string, DeviceCounters> all;
  const bool sees_regions = has_regions(now);
  for (const auto& [device, readings] : now) {
    DeviceReadings& known = known_[device];
    for (const auto& [name, reading] : readings) {
      if (has_regions_ && is_of_region(name))
        known.try_emplace(name, CounterReading{reading.meaning, 0});
    }
    all[device] = changes(known, readings);
    if (sees_regions) {
      std::erase_if(known, [](const auto& entry) { return is_of_region(entry.first); });
    }
    for (const auto& [name, reading] : readings) known[name] = reading;
  }
  has_regions_ = has_regions_ || sees_regions;
  return all;
}

std::vector<FindingClass> CounterJudge::judge(const DeviceCounters& change, Duration took) {
  std::vector<FindingClass> found;
  if (change.rnr_naks > 0 || change.page_faults > 0) {
    has_fault_ = true;
    since_fault_ = {};
  } else {
    // The timeout came at any time since the look before.
    has_fault_ = has_fault_ && since_fault_ <= timeout_;
    since_fault_ += took;
  }
  const bool faults = has_fault_;
  if (change.timeouts > 0) {
    const bool noticed = change.sequence_naks > 0;
    found.push_back(faults && !noticed ? FindingClass::damming : FindingClass::loss);
  } else if (change.sequence_naks > 0) {
    found.push_back(faults ? FindingClass::damming_rescued : FindingClass::loss);
  }
  if (static_cast<double>(change.duplicates) >= flood_per_s * took.to_seconds() &&
      change.duplicates > 0 && change.timeouts == 0) {
    found.push_back(FindingClass::flood);
  }
  return found;
}

}  // namespace weft::rdma
