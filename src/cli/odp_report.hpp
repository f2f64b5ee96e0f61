// SPDX-License-Identifier: Apache-2.0
// The contents of the page about a run of `weft odp simulate`.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "rdma/benchmark.hpp"
#include "report/odp_page.hpp"

namespace weft::cli {

/// Looks on at the packets of one run. Memory does not grow with their number.
class OdpRecorder {
 public:
  void add(const rdma::TappedPacket& tapped);
  /// Puts the recorded packets into the record.
  void finish(report::OdpRecord& record) const;

 private:
  static constexpr std::size_t most_steps = 200;
  static constexpr std::size_t first_arrows = 24;
  static constexpr std::size_t most_arrows = 64;

  void count(const rdma::TappedPacket& tapped);
  static std::string text_of(const net::rc::Packet& packet);

  Duration step_ = Duration::microseconds(1);
  std::vector<std::uint64_t> requests_, responses_;
  std::unordered_map<std::uint32_t, std::uint32_t> highest_;  // PSN of requests, by queue pair
  std::vector<report::OdpArrow> arrows_;
  Instant last_{};
  std::uint64_t left_out_ = 0;   // packets since the latest arrow
  std::size_t after_pause_ = 0;  // arrows still to show behind a pause
  std::uint64_t packets_ = 0;
};

/// The record without the recorder's packets.
report::OdpRecord odp_record(const rdma::BenchmarkOptions& options,
                             const rdma::BenchmarkResult& result, const std::string& command);

}  // namespace weft::cli
