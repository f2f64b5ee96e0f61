// SPDX-License-Identifier: Apache-2.0
// Counters of RDMA adapters from the kernel, under one name for all drivers, and the damming, flood
// and loss that their changes show.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rdma/diagnosis.hpp"
#include "weft/time.hpp"

namespace weft::rdma {

/// The counters of one device, summed over its ports.
struct DeviceCounters {
  std::uint64_t timeouts = 0;
  std::uint64_t sequence_naks = 0;  ///< received, those that are implied too
  std::uint64_t rnr_naks = 0;       ///< received
  std::uint64_t retries_exceeded = 0;
  std::uint64_t duplicates = 0;  ///< requests that came again
  std::uint64_t out_of_sequence = 0;
  std::uint64_t retransmissions = 0;  ///< where the driver counts nothing else
  std::uint64_t page_faults = 0;
  std::uint64_t page_invalidations = 0;

  bool operator==(const DeviceCounters&) const = default;
};

/// One counter at one look.
struct CounterReading {
  std::uint64_t DeviceCounters::*meaning = nullptr;
  std::uint64_t value = 0;
};
/// By port and name, "1 packet_seq_err", or region and name, "region 8 page_faults". Without the
/// counters that could not be read.
using DeviceReadings = std::map<std::string, CounterReading>;
using MachineReadings = std::map<std::string, DeviceReadings>;  // by device

/// The counters below `sys`/class/infiniband: hw_counters of mlx5, rxe, bnxt_re and irdma. No
/// device is an empty answer.
MachineReadings read_counters(const std::string& sys);
/// Adds the output of `rdma statistic show mr`: paging of registered regions.
void add_region_statistics(std::string_view printed, MachineReadings& readings);
DeviceCounters total(const DeviceReadings& readings);
/// The events in between, as far as counters were read both times; one that was reset counts from
/// zero.
DeviceCounters changes(const DeviceReadings& before, const DeviceReadings& now);

/// The events between one look and the next. A counter that cannot be read at a look is as it was
/// before, one that is read for the first time has counted nothing yet, and one that was reset
/// counts from zero. Regions come and go: a new one counts from zero. One thread.
class CounterWatch {
 public:
  /// By device, all devices of `now`; nothing happened up to the first look.
  std::map<std::string, DeviceCounters> look(const MachineReadings& now);

 private:
  MachineReadings known_;
  bool has_regions_ = false;  // the look before had statistics of regions, perhaps of none
};

/// Damming, flood, loss, as far as the counters of one device can tell them apart. A request that
/// was lost in a wait shows by its timeout alone, and that comes long after the RNR NAK or the
/// fault: these are remembered for as long as a timeout takes. One thread.
class CounterJudge {
 public:
  /// The time after which a lost request goes out again with code C of the local ACK timeout: an
  /// adapter may take up to four times 4.096 us * 2^C, and takes less than two. The default, C = 20
  /// (8.6 s), is the largest that UCX, NCCL and Open MPI choose unasked.
  static constexpr Duration longest_timeout = Duration::nanoseconds(std::int64_t{8'192} << 20);

  explicit CounterJudge(Duration timeout = longest_timeout) : timeout_(timeout) {}

  /// The findings of `change`, which happened in `took`, right after the change before it.
  std::vector<FindingClass> judge(const DeviceCounters& change, Duration took);

 private:
  Duration timeout_;
  Duration since_fault_{};  // since the end of the latest look that saw an RNR NAK or a fault
  bool has_fault_ = false;  // and that is not too long ago
};

}  // namespace weft::rdma
